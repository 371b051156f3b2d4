"""`legacy`: the reward of the reference stack, number for number, for comparison with runs made under it.

    score    = w_a·R_atomic + w_o·R_orch + w_s·R_state                      default weights 0.5, 0.5, 0; not normalised
    R_atomic = ½·mean ast + ½·mean semantic                                 over the calls made
    ast      = 0.33 name + 0.33 structure + 0.34 [values pass the checker]  against the first step with that tool
    semantic = 1 if the reply paired with the call is there and is no error
    R_orch   = 1/N Σ_i [step i found]       earliest call with the step's tool name after all steps it depends on
    R_state  = 0                                                            a place-holder in the reference, too

It reads decoded text, so a model that writes its own replies is believed, and it prefers few calls to many. Use
`graduated` to train. This file needs nothing but the standard library: copy it into a verl tree, or name it in
`reward.custom_reward_function.path`. The entry point is `compute_score`, total where the reference raises: there every
key is 0, and `compute(...)`, which returns the same numbers, says in `error` what would have been raised.

The ground truth may be the reference's list of candidates per step, or the JSON of one of our tasks (text or object).
"""
from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

NAME, STRUCTURE, VALUES = 0.33, 0.33, 0.34
DEFAULT_WEIGHTS = {"R_atomic_validity": 0.5, "R_outcome_orchestration": 0.5, "R_outcome_state": 0.0}
Object = dict[str, Any]
"""A JSON object."""

ATOMIC_KEYS = ("ast", "semantic", "rate", "name", "structure", "values")
KEYS = (
    "R_atomic_validity",
    *(f"R_atomic_validity_{key}" for key in ATOMIC_KEYS),
    "tool_executable_rate",
    "tool_calling_success_rate",
    "R_outcome_orchestration",
    "R_outcome_state",
    "score",
)
"""The logged keys, always all of them."""

REFERENCE_RAISES = (TypeError, KeyError, IndexError, ValueError, AttributeError, RecursionError)
"""What leaves the reference on odd input; here it means score 0."""


@dataclass(frozen=True)
class LegacyScore:
    """The twelve numbers, and the name of the exception the reference would have raised."""

    values: dict[str, float]
    error: str | None = None


def compute_score(
    solution_str: str,
    ground_truth: Any,
    method: str = "strict",
    extra_info: Mapping[str, Any] | None = None,
    reward_weights: Mapping[str, float] | None = None,
    **kwargs: Any,
) -> dict[str, float]:
    """Return the twelve logged numbers for one decoded response, as verl's custom reward function.

    `method` and further keywords (verl sends `data_source`) are accepted and not used. Never raises on any text.
    """
    return compute(solution_str, ground_truth, extra_info, reward_weights).values


def compute(
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    reward_weights: Mapping[str, float] | None = None,
) -> LegacyScore:
    """Return the numbers of `compute_score` together with what the reference would have raised."""
    weights = DEFAULT_WEIGHTS if reward_weights is None else reward_weights
    atomic_weight = float(weights.get("R_atomic_validity", 0.0))
    orchestration_weight = float(weights.get("R_outcome_orchestration", 0.0))
    scores = dict.fromkeys(KEYS, 0.0)
    try:
        gold, transcript = read_gold(ground_truth, extra_info), read_transcript(solution_str)
        if atomic_weight > 0:
            scores |= _atomic(transcript, gold)
            scores["score"] += atomic_weight * scores["R_atomic_validity"]
        if orchestration_weight > 0:
            scores["R_outcome_orchestration"] = _orchestration(transcript.calls, gold)
            scores["score"] += orchestration_weight * scores["R_outcome_orchestration"]
    except REFERENCE_RAISES as error:
        return LegacyScore(dict.fromkeys(KEYS, 0.0), type(error).__name__)
    return LegacyScore(scores)


# ---------------------------------------------------------------------------------------------------- gold


@dataclass(frozen=True)
class Gold:
    """What the trajectory is compared with, one entry a step."""

    candidates: list[list[Object]]
    """`{name, success}` of every tool on offer at the step."""
    dependencies: list[list[int] | None] | None
    traces: list[Object]
    """Tool → {success, traces: [{arguments, …}]}."""


def read_gold(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> Gold:
    """Return the gold side from the reference's columns or from the JSON of one of our tasks."""
    truth = plain(json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth)
    if isinstance(truth, dict):
        return _gold_of_task(cast("Object", truth))
    extra = extra_info or {}
    traces = extra.get("execution_traces")
    return Gold(truth or [], plain(extra.get("step_dependency")), [] if traces is None else list(traces))


def _gold_of_task(task: Object) -> Gold:
    steps: list[Object] = task["steps"]
    tools: list[str] = list(dict.fromkeys([*(task.get("tools") or ()), *(s["function"] for s in steps)]))
    candidates = [[{"name": t, "success": t == s["function"]} for t in tools] for s in steps]
    dependencies: list[list[int] | None] = [list(s.get("depends_on") or ()) or None for s in steps]
    traces = [{s["function"]: {"success": True, "traces": [{"arguments": s["arguments"]}]}} for s in steps]
    return Gold(candidates, dependencies, traces)


def plain(value: Any) -> Any:
    """Turn the arrays that parquet readers give into lists."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(item) for item in cast("list[Any]", value)] if isinstance(value, list | tuple) else value


# ---------------------------------------------------------------------------------------------------- text


@dataclass
class Transcript:
    """Calls in the order of the text, and the replies by the call they were paired with."""

    calls: list[Any] = field(default_factory=list[Any])
    """Parsed bodies of the call blocks, JSON null and unreadable ones left out; anything JSON allows."""
    replies: defaultdict[tuple[str, str], deque[Any]] = field(default_factory=lambda: defaultdict(deque[Any]))
    """(name, sorted arguments as text) → replies not yet used."""


def read_transcript(text: str) -> Transcript:
    """Find the call and reply blocks and pair each call with the first later reply that is not taken.

    An unreadable call takes a reply, too, and an unreadable reply is taken in vain: so the reference has it.
    """
    calls = [(start, _parse(body)) for start, body in _blocks(text, "<tool_call>", "</tool_call>")]
    replies = [(start, _parse(body)) for start, body in _blocks(text, "<tool_response>", "</tool_response>")]
    transcript, taken = Transcript(), 0
    for start, call in calls:
        while taken < len(replies) and replies[taken][0] < start:
            taken += 1
        reply = replies[taken][1] if taken < len(replies) else None
        taken += 1
        if call is not None:
            transcript.calls.append(call)
            if reply is not None and isinstance(call, dict):
                transcript.replies[call_key(cast("Object", call))].append(reply)
    return transcript


def _blocks(text: str, opening: str, closing: str) -> Iterator[tuple[int, str]]:
    """Yield (start, body) of every block, in one pass: an opening without a closing ends the search."""
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            return
        yield start, text[start + len(opening) : end]
        start = text.find(opening, end + len(closing))


def _parse(body: str) -> Any:
    try:
        return json.loads(body.strip())
    except (ValueError, RecursionError):
        return None


def arguments_of(call: Object) -> Object:
    """Return the arguments of a call: an object, or the text of one; anything else counts as none."""
    arguments: Any = call.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _parse(arguments)
    return cast("Object", arguments) if isinstance(arguments, dict) else {}


def call_key(call: Object) -> tuple[str, str]:
    """Return what replies are looked up by."""
    return str(call.get("name")), str(sorted(arguments_of(call).items()))


# ---------------------------------------------------------------------------------------------------- atomic


def _atomic(transcript: Transcript, gold: Gold) -> dict[str, float]:
    if gold.candidates and not gold.traces:
        raise ValueError("no execution traces")
    total: dict[str, float] = dict.fromkeys([*ATOMIC_KEYS, "executable", "success"], 0.0)
    for call in transcript.calls:
        if isinstance(call, dict):
            for key, value in _levels(cast("Object", call), transcript, gold).items():
                total[key] += value
    count = len(transcript.calls)
    mean = {key: value / count if count else 0.0 for key, value in total.items()}
    return {
        "R_atomic_validity": 0.5 * mean["ast"] + 0.5 * mean["semantic"],
        **{f"R_atomic_validity_{key}": mean[key] for key in ATOMIC_KEYS},
        "tool_executable_rate": mean["executable"],
        "tool_calling_success_rate": mean["success"],
    }


def _levels(call: Object, transcript: Transcript, gold: Gold) -> dict[str, float]:
    """Return the scores of one call against the first step that used its tool; nothing where no step did."""
    name = call.get("name")
    trace = next((t[name] for t in gold.traces if name in t), None)
    if trace is None:
        return {}
    waiting = transcript.replies.get(call_key(call))
    answered = bool(waiting)
    reply = waiting.popleft() if waiting else None
    semantic = float(bool(trace["success"]) and answered and not is_error(reply) and reply != {})
    levels = {"semantic": semantic, "executable": float(answered), "success": float(answered and not is_error(reply))}
    if len(trace["traces"]):
        levels |= _ast(arguments_of(call), plain(trace["traces"][0]["arguments"]))
        levels["rate"] = float(levels["ast"] >= 1.0 and semantic > 0)
    return levels


def _ast(given: Object, expected: Object) -> dict[str, float]:
    structure = STRUCTURE * structure_share(given, expected)
    values = VALUES if values_pass(given, expected) else 0.0
    return {"name": NAME, "structure": structure, "values": values, "ast": NAME + structure + values}


def is_error(reply: Any) -> bool:
    """Say whether a reply looks like an error."""
    if not isinstance(reply, dict):
        return False
    answer = cast("Object", reply)
    return "error" in answer or answer.get("status", True) == False  # noqa: E712 (0 counts, null and "" do not)


def structure_share(given: Object, expected: Object) -> float:
    """Return the share of expected names that are there, times the share of those with the right type."""
    if not expected:
        return float(not given)
    common = given.keys() & expected.keys()
    if not common:
        return 0.0
    fitting = sum(_same_type(given[name], expected[name]) for name in common)
    return len(common) / len(expected) * (fitting / len(common))


def _same_type(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers or type(one) is type(other)


# ---------------------------------------------------------------------------------------------------- values
#
# BFCL's rule for a call, as the reference uses it: the type of an argument is inferred from the expected value, and the
# expected value is the only accepted one. Objects are compared with lists of accepted values that are not there, so a
# text inside an object is compared with the single characters of the expected text, and never fits.

_DROPPED = re.compile(r"[ ,./\-_*^]")
_KINDS: dict[type, type] = {str: str, int: int, float: float, bool: bool, list: list, dict: dict}


def values_pass(given: Object, expected: Object) -> bool:
    """Say whether the given arguments pass the checker; all expected ones are required, no others allowed."""
    if not expected.keys() <= given.keys():
        return False
    return all(name in expected and _value_passes(value, expected[name]) for name, value in given.items())


def folded(value: Any) -> Any:
    """Return text without case and the characters the checker ignores; other values as they are."""
    return _DROPPED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value


def _value_passes(given: Any, expected: Any) -> bool:
    kind = _KINDS[type(expected)]
    if kind is float and type(given) is int:
        given = float(given)
    if type(given) is not kind:
        return False
    if kind is dict:
        return _object_passes(given, expected)
    if kind is list:
        return _list_passes(given, expected)
    return folded(given) == folded(expected)


def _list_passes(given: list[Any], expected: list[Any]) -> bool:
    item_kind = _KINDS[type(expected[0])] if expected else str
    if any(type(item) is not item_kind for item in given):
        return False
    if item_kind is not dict:
        return [folded(item) for item in given] == [folded(item) for item in expected]
    if len(given) != len(expected):
        return False
    return all(_object_passes(a, b) for a, b in zip(given, expected, strict=True))


def _object_passes(given: Object, expected: Object) -> bool:
    present = all(key in expected and _among(value, expected[key]) for key, value in given.items())
    absent = all(key in given or "" in value for key, value in expected.items())  # asked in any case, so it may raise
    return present and absent


def _among(value: Any, accepted: Any) -> bool:
    return folded(value) in [folded(accepted[i]) for i in range(len(accepted))]


# ---------------------------------------------------------------------------------------------------- orchestration


def _orchestration(calls: Sequence[Any], gold: Gold) -> float:
    positions: defaultdict[str, list[int]] = defaultdict(list)
    trap = len(calls)
    """First call whose name can't be asked for: the reference raises when a search comes past it. It looks through all
    calls for a tool that would be wrong, and up to the first hit for the right one."""
    for position, call in enumerate(calls):
        if isinstance(call, dict):
            name: Any = cast("Object", call).get("name")
            if isinstance(name, str):
                positions[name].append(position)
        elif trap == len(calls) and (not isinstance(call, str | list) or "name" in call):
            trap = position
    found: list[int | None] = []
    for index, candidates in enumerate(gold.candidates):
        wanted = gold.dependencies[index] if gold.dependencies else None
        found.append(_find_step(candidates, wanted or [], found, positions, trap, len(calls)))
    return sum(p is not None for p in found) / len(found) if found else 0.0


def _find_step(
    candidates: list[Object],
    needed: list[int],
    found: list[int | None],
    positions: Mapping[str, list[int]],
    trap: int,
    end: int,
) -> int | None:
    """Return the earliest call of the step's tool after all calls it depends on."""
    before = [found[d] if d < len(found) else None for d in needed]
    after = max((p for p in before if p is not None), default=-1)
    best: int | None = None
    for candidate in candidates:
        here = positions.get(candidate["name"], [])
        at = bisect_right(here, after)
        position = here[at] if at < len(here) and None not in before else None
        reach = position if position is not None and candidate["success"] else end
        if reach > trap:
            raise TypeError("a call that is no object")
        if candidate["success"] and position is not None:
            best = position if best is None else min(best, position)
    return best
