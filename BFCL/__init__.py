"""Reading calls out of model text and judging them."""
