"""Rewards: pure functions from a trajectory and its task to a score in [0, 1]."""
