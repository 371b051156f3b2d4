"""The command line `tool-rl`: one verb a stage, and `run` and `plan` over all of them.

Verbs import what they need when they are called, so that `--help` answers at once.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line; the entry point of the distribution."""
    from scripts.cli.app import main as run

    run()
