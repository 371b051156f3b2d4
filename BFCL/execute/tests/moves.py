"""Calls that lead a world where it should not go."""

from __future__ import annotations


def copies_of_copies(levels: int) -> list[str]:
    """Calls that make a folder `a` whose walk has 2 ** levels steps: every level holds the one below twice."""
    calls = ["mkdir('a')", "cp('a', 'b')"]
    for _ in range(levels):
        calls += ["mkdir('c')", "mv('a', 'c')", "mv('b', 'c')", "mv('c', 'a')", "cp('a', 'b')"]
    return calls
