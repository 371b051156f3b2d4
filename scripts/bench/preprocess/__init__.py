"""How fast records become RL parquet, and in how much memory."""
