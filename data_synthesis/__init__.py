"""Data synthesis: workflow templates and a recorded world become queries with checkable gold chains."""
