"""Where our verdicts differ from those of the leaderboard's checker, and why, as data.

On every input its checker can judge the verdicts are equal, error type included; the tests hold that over recorded
cases. What differs is what it can't judge, and one choice that only rewards make.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One intended difference."""

    name: str
    theirs: str
    ours: str
    why: str
    where: str
    """`check`, or the reward that has it."""


DIFFERENCES = (
    Difference(
        "malformed",
        "a traceback on a call or an answer of another shape than a mapping of arguments",
        "the verdict `ast_checker:malformed`",
        "a reward and a long evaluation must not end because of what a model wrote",
        "check",
    ),
    Difference(
        "unknown_function",
        "a traceback where no document has the name an answer asks for",
        "the verdict `ast_checker:unknown_function`",
        "the row is wrong, not the run",
        "check",
    ),
    Difference(
        "unknown_type",
        "a traceback where a document names a type its table lacks",
        "JSON Schema's `object` and `number` mean `dict` and `float`; others give `ast_checker:unknown_type`",
        "documents of tools outside the leaderboard are written in JSON Schema",
        "check",
    ),
    Difference(
        "no_items",
        "a traceback where an array's document doesn't say what its items are",
        "the items are not judged by type",
        "nothing is known of them",
        "check",
    ),
    Difference(
        "no_required",
        "a traceback where a document has no list of required parameters",
        "none is required",
        "that is what JSON Schema says of it",
        "check",
    ),
    Difference(
        "sets_and_queues",
        "a traceback on Java's Set, Hashtable, Queue and Stack, which it knows but has no reader for",
        "the text stays text, so the type is wrong: `type_error:simple`",
        "no row uses them; an error of type is what a value that can't be read is",
        "check",
    ),
    Difference(
        "assignment",
        "each answer takes the first call that fits, so the order of calls can decide a verdict",
        "the same here; the reward `binary` pairs calls and answers in the best way",
        "a reward that depends on the order of independent calls teaches an order",
        "binary",
    ),
)
"""All of them."""
