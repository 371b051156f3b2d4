"""Benches that compare this project with others on one machine in one run."""
