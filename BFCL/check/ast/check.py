"""`check`: does what a model called answer a row of the leaderboard?

    simple               one call, compared with the first answer
    multiple             as many calls as answers; the first is compared by the document of the answer's function
    parallel             as many calls as answers, in any order: each answer, in turn, takes the first unused call that
    (also parallel_multiple)  fits. The choice is the leaderboard's and not the best one: see `differences`

Verdicts are those of the leaderboard's own checker, error type included; `differences` lists where ours differ and why.
Nothing of the model's text is ever evaluated: calls come decoded, and Java and JavaScript values are read by patterns.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from BFCL.check.ast.call import Answer, Call, Document, call_error
from BFCL.check.ast.kinds import Language, language_of

ODD_SHAPES = (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError, StopIteration, RecursionError)
"""What values of other shapes than the leaderboard's raise on the way; there its own checker ends with a traceback."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker says of one row."""

    error_type: str = ""
    """Name of the first mistake, as the leaderboard calls it; empty where there is none."""

    @property
    def valid(self) -> bool:
        """Whether the calls are right."""
        return not self.error_type


RIGHT = Verdict()


def check(functions: Sequence[Document], answers: Sequence[Answer], calls: Sequence[Call], category: str) -> Verdict:
    """Return the verdict on the calls of one row.

    Args:
        functions: the function documents on offer.
        answers: the accepted answers, one a call.
        calls: decoded calls; values as JSON gives them, source text in Java and JavaScript.
        category: name of a category, such as `live_parallel` or `simple_java`.

    Total: calls of any shape get a verdict.
    """
    language = language_of(category)
    try:
        if "parallel" in category:
            error = _parallel(functions, answers, calls, language)
        elif "multiple" in category:
            error = _multiple(functions, answers, calls, language)
        else:
            error = _simple(functions, answers, calls, language)
    except ODD_SHAPES:
        error = "ast_checker:malformed"
    return Verdict(error) if error else RIGHT


def _simple(functions: Sequence[Document], answers: Sequence[Answer], calls: Sequence[Call], language: Language) -> str:
    if len(calls) != 1:
        return "simple_function_checker:wrong_count"
    return call_error(functions[0], calls[0], answers[0], language)


def _multiple(
    functions: Sequence[Document], answers: Sequence[Answer], calls: Sequence[Call], language: Language
) -> str:
    if len(calls) != len(answers):
        return "multiple_function_checker:wrong_count"
    document = _document(functions, answers[0])
    return call_error(document, calls[0], answers[0], language) if document else "ast_checker:unknown_function"


def _parallel(
    functions: Sequence[Document], answers: Sequence[Answer], calls: Sequence[Call], language: Language
) -> str:
    if len(calls) != len(answers):
        return "parallel_function_checker_no_order:wrong_count"
    unused = list(calls)
    for answer in answers:
        document = _document(functions, answer)
        if document is None:
            return "ast_checker:unknown_function"
        fitting = (at for at, call in enumerate(unused) if not call_error(document, call, answer, language))
        position = next(fitting, None)
        if position is None:
            return "parallel_function_checker_no_order:cannot_find_match"
        del unused[position]
    return ""


def _document(functions: Sequence[Document], answer: Answer) -> Document | None:
    wanted = next(iter(answer))
    return next((document for document in functions if document["name"] == wanted), None)
