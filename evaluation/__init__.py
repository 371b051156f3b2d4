"""Evaluation: drive a policy through held-out tasks, judge what it did, and show it with intervals."""
