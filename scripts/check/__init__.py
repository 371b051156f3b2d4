"""Checks of the project itself: its layers, its imports, its environment."""
