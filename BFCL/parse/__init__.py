"""Reading calls out of model text."""
