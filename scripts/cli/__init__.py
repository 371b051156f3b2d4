"""The command line `tool-rl`: one verb a stage, and `run` and `plan` over all of them.

Verbs import what they need when they are called, so that `--help` answers at once.
"""
