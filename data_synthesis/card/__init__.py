"""Data cards: what is in a set, how it was made and what it shares with others, beside the set it describes."""
