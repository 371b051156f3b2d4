"""What two sets have in common: call patterns, calls, entities, runs of words, near-duplicate texts."""
