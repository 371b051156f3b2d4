"""Makers of the data files that lie in the tree."""
