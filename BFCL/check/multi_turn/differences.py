"""Where our verdicts on conversations differ from those of the leaderboard's checker, and why, as data."""
from __future__ import annotations

from BFCL.check.ast.differences import Difference

DIFFERENCES = (
    Difference(
        "fresh_worlds",
        "instances stay in module globals by model and row; a second rollout acts on those of the first",
        "every rollout has instances of its own",
        "a right rollout after a wrong one of the same row must be right: a group of rollouts is scored by it",
        "multi_turn",
    ),
    Difference(
        "literal_arguments",
        "a call is a Python expression and is evaluated: calls, names and operations in it run",
        "arguments are literals; anything else is an observation of an error. JSON's true, false and null are literals",
        "what a model wrote is data",
        "multi_turn",
    ),
    Difference(
        "function_names",
        "names such as `kill` or `run` are refused, every other name of its module can be reached",
        "the public methods of the row's classes can be called, nothing else",
        "a list of what is allowed has no gaps",
        "multi_turn",
    ),
    Difference(
        "parentheses_in_text",
        "the name of a method before a parenthesis is rewritten inside texts too, differently for model and gold",
        "texts stay as they are",
        "a file that says `ls()` has the same content on both sides",
        "multi_turn",
    ),
    Difference(
        "lists_and_tuples",
        "a tuple and a list of the same items are different states",
        "a tuple is read as a list",
        "JSON has one kind, and a model that calls functions can't write the other",
        "multi_turn",
    ),
    Difference(
        "large_numbers",
        "whole numbers of any size; a power, a precision or a rounding may take for ever",
        "whole numbers have 64 bits, no more than 4300 digits are worked out, logarithms and roots are of numbers",
        "one call must not stop a run",
        "multi_turn",
    ),
    Difference(
        "deadlines",
        "a call may take for ever",
        "a call that takes longer than 2 s is an observation of an error, such a state is wrong",
        "one call must not stop a run",
        "multi_turn",
    ),
    Difference(
        "endless_states",
        "a traceback where a folder was copied into itself",
        "such a state is no right one",
        "a run must not end because of what a model did",
        "multi_turn",
    ),
)
"""All of them."""
