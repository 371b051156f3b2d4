"""Joint constraint search against blind restarts, over one recorded world."""
