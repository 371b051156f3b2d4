"""Trajectories a second of the rewards, and rows a second of the AST checker beside the leaderboard's own."""
