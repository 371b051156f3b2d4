"""The recorded world: calls and their answers in one read-only SQLite file, and the tools that write it."""
