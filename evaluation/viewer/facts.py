"""What the list knows of one trajectory: a few facts read from its line. All else stays in the file.

Values that repeat (tools, stop reasons, names of reward parts) are kept once and shared, so that 100 000 rows fit in
some tens of megabytes.
"""
from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

SKIM_FROM = 6000
"""Bytes from which on it is quicker to skim a line than to read it whole."""
NONE = -1
"""No such number, where a column holds integers."""


class Row(NamedTuple):
    """One trajectory of a file. A tuple, not a dataclass: there are 100 000 of them to make before a page opens."""

    line: int
    """Line of the file, from 1."""
    offset: int
    """Byte at which the line begins."""
    length: int
    """Bytes of the line without its end."""
    task: str
    stop: str
    success: bool | None
    """None where nobody judged it, or where the infrastructure failed."""
    reward: float | None
    sample: int
    step: int
    """Training step, `NONE` outside training."""
    tools: tuple[str, ...]
    """Tools called, in order of first use; `""` stands for calls without a readable name."""
    calls: int
    turns: int
    layout: int
    """Which names the parts of its reward have, see `Parts`; `NONE` without any."""
    at: int
    """Where its parts begin."""


class Parts:
    """Numbers of rewards, part by part, of all rows of a file; truth values are 0 and 1."""

    def __init__(self) -> None:
        self.layouts: list[tuple[str, ...]] = []
        """Names of the numbers that rewards of one kind have."""
        self._by_names: dict[tuple[str, ...], int] = {}
        self._by_keys: dict[tuple[str, ...], tuple[int, Callable[[Mapping[str, Any]], tuple[Any, ...]], list[str]]] = {}
        """Keys of a whole reward → the layout of one that had them, what takes its numbers out, and its other keys."""
        self._numbers = array("d")

    def add(self, reward: Mapping[str, Any]) -> tuple[int, int]:
        """Keep the numbers of a reward; return the layout and place that find them again."""
        at = len(self._numbers)
        known = self._by_keys.get(tuple(reward))
        if known is not None and not any(isinstance(reward[other], int | float) for other in known[2]):
            try:
                self._numbers.fromlist(list(known[1](reward)))
                return known[0], at
            except (TypeError, OverflowError):  # one that is a number elsewhere is none here
                pass
        return self._add(reward), at

    def value(self, row: Row, name: str) -> float | None:
        """Return a part of a row's reward, None where it has no such part."""
        if row.layout == NONE or name not in self.layouts[row.layout]:
            return None
        return self._numbers[row.at + self.layouts[row.layout].index(name)]

    def _add(self, reward: Mapping[str, Any]) -> int:
        """Keep the numbers of a reward of a new kind, and learn to do so quickly."""
        known = {name: value for name, value in reward.items() if isinstance(value, int | float) and _fits(value)}
        numbers = {name: float(value) for name, value in known.items()}
        names = tuple(numbers)
        layout = self._by_names.get(names)
        if layout is None:
            layout = self._by_names[names] = len(self.layouts)
            self.layouts.append(names)
        if len(names) > 1:
            others = [name for name in reward if name not in numbers]
            self._by_keys.setdefault(tuple(reward), (layout, itemgetter(*names), others))
        self._numbers.extend(numbers.values())
        return layout


Outcomes = Mapping[tuple[str, int], tuple[bool, float | None]]
"""(task id, sample) → success and reward, as an evaluation's summary has them."""


class Reader:
    """Turns the lines of one file into rows."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.parts = Parts()
        self._outcomes = outcomes
        self._shared: dict[Any, Any] = {}

    def row(self, line: bytes, number: int, offset: int) -> Row:
        """Return the facts of a line.

        Raises:
            ValueError: the line is no trajectory; the message says why.
        """
        skimmed = skim(line) if len(line) >= SKIM_FROM else None
        data, turns = (decode(line), None) if skimmed is None else skimmed
        try:
            return self._row(data, turns, number, offset, len(line))
        except KeyError as error:
            raise ValueError(f"no trajectory: {error.args[0]!r} is missing") from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"no trajectory: a part has the wrong type ({error})") from error

    def _row(self, data: dict[str, Any], turns: int | None, number: int, offset: int, length: int) -> Row:
        task, stop, meta = data["task_id"], data["stop"], data.get("meta") or {}
        if not isinstance(task, str) or not isinstance(stop, str):
            raise TypeError("task_id and stop are texts")
        if turns is None:
            turns = [message["role"] for message in data["messages"]].count("assistant")
        share = self._shared.setdefault
        calls: list[dict[str, Any]] = data["calls"]
        tools = tuple(dict.fromkeys([call["name"] for call in calls])) if calls else ()
        sample, step, given = meta.get("sample"), meta.get("step"), meta.get("reward")
        sample = sample if type(sample) is int else 0
        layout, at = self.parts.add(given) if isinstance(given, dict) else (NONE, 0)
        success, reward = self._judged(task, sample, given)
        return Row(
            number, offset, length, share(task, task), share(stop, stop),
            None if stop == "infrastructure" else success, reward,
            sample, step if type(step) is int else NONE, share(tools, tools), len(calls), turns, layout, at,
        )  # fmt: skip

    def _judged(self, task: str, sample: int, given: Any) -> tuple[bool | None, float | None]:
        if isinstance(given, dict):
            right, score = given.get("acc"), given.get("score")
            right = right if type(right) is float else _number(right)
            return None if right is None else right >= 1, score if _is_usual(score) else _number(score)
        known = self._outcomes.get((task, sample))
        return known if known is not None else (None, _number(given))


def skim(line: bytes) -> tuple[dict[str, Any], int] | None:
    """Return a trajectory without its messages, results and ledger, and the number of assistant turns.

    Those three are most of a line, and the list needs none of them. They are cut out between the keys around them as
    `Trajectory.to_json` orders them; quotes inside strings are escaped, so no text can pose as a key, and what is left
    must be JSON with brackets that fit. None where the line is written otherwise: then it has to be read whole. What
    is cut out is not looked at before the episode is opened.
    """
    messages = line.find(b', "messages": [')
    calls = line.find(b'], "calls": [', messages) + 1
    results = line.find(b'], "results": [', calls) + 1
    stop = line.rfind(b'], "stop": "') + 1
    if not 0 < messages < calls < results < stop or line.find(b'"task_id"', messages) >= 0:
        return None
    try:
        data: Any = orjson.loads(line[:messages] + line[calls:results] + line[stop:])
    except orjson.JSONDecodeError:
        return None
    return (data, line.count(b'"role": "assistant"', messages, calls)) if isinstance(data, dict) else None


def decode(line: bytes) -> dict[str, Any]:
    """Return the object of a line; ValueError says in words what else it is. Takes what `json` writes, NaN included."""
    try:
        data: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        data = _decode_leniently(line)
    if not isinstance(data, dict):
        raise ValueError(f"no trajectory but a JSON {type(data).__name__}")
    return data


def _decode_leniently(line: bytes) -> Any:
    """Read numbers that are none and unpaired surrogates, which models and Python write and orjson refuses."""
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start + 1})") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error


def _is_usual(value: Any) -> bool:
    """Say quickly that a value is a finite float; False says nothing."""
    return type(value) is float and -1e300 < value < 1e300


def _fits(value: int | float) -> bool:
    return isinstance(value, float) or abs(value) < 2**1023


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and math.isfinite(value) else None
