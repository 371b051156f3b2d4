"""OpenAI-compatible chat endpoints as a client sees them: one client for evaluation, data synthesis and training.

It stands in layer 1 because folders of layer 3 don't import each other, and in `server` because that is the part of
layer 1 that speaks HTTP.
"""
