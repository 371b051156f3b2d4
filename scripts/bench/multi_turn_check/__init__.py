"""Rollouts a second, verdicts and memory of the multi-turn checker beside the leaderboard's own."""
