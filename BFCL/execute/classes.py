"""The eight classes of the official package that simulate a service, and which of their methods may be called.

A module is imported by a name from our own table, never by one that a row or a model wrote. The modules need nothing
but the standard library and mpmath; the packages above them are empty, so no more of the official package comes along.
"""
from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module

from BFCL.data.package import MODULE, home
from BFCL.data.rows import DOCUMENT_FILES
from BFCL.parse.one_call import OneCall
from environment.core.calls import JsonValue
from environment.core.errors import ConfigError, DataError, nearest_name

FOLDER = f"{MODULE}.eval_checker.multi_turn_eval.func_source_code"

STATELESS = frozenset({"MathAPI"})
"""Classes that take no starting state."""


@cache
def load_class(name: str) -> type:
    """Return a class by its name in the rows.

    Raises:
        DataError: a row names a class that is not one of the eight.
        ConfigError: the package, or mpmath, is not installed.
    """
    if name not in DOCUMENT_FILES:
        known = ", ".join(DOCUMENT_FILES)
        raise DataError(
            "unknown class of a simulated world", got=name, expected=known, nearest=nearest_name(name, DOCUMENT_FILES)
        )
    home()
    try:
        return getattr(import_module(f"{FOLDER}.{DOCUMENT_FILES[name]}"), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{name} needs {error.name}", fix=f"pip install {error.name}") from error


@cache
def methods(name: str) -> frozenset[str]:
    """Return the public methods of a class: what a call may name."""
    members = inspect.getmembers(load_class(name), inspect.isfunction)
    return frozenset(method for method, _ in members if not method.startswith("_"))


def named(call: OneCall, classes: Sequence[str]) -> dict[str, JsonValue]:
    """Return the arguments of a call by name, those given by position too; DataError for an unknown function."""
    owner = owners(tuple(classes)).get(call.name)
    if owner is None:
        raise DataError("no function of these classes", got=call.name, expected="a method of " + ", ".join(classes))
    _, *names = inspect.signature(getattr(load_class(owner), call.name)).parameters
    return {**dict(zip(names, call.positional, strict=False)), **call.keywords}


@lru_cache(maxsize=256)
def owners(classes: Sequence[str]) -> Mapping[str, str]:
    """Return method → class for the classes of a row; where two have the same method, the later class has it.

    Args:
        classes: a tuple, in the row's order.
    """
    return {method: name for name in classes for method in methods(name)}
