"""The world's tools for agent loops that are not ours: one session a trajectory, no verl in here."""
