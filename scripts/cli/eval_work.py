"""The work behind `tool-rl eval` and `tool-rl compare`: from options to a job, progress, and what a terminal shows."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from environment.core.errors import ConfigError
from evaluation.comparison import Comparison
from evaluation.metrics import Paired
from evaluation.runner import Place
from evaluation.serve import ServeSettings
from evaluation.settings import Mode, RunSettings, context_length, is_model_folder
from evaluation.store import finished_keys
from evaluation.suite import Suite

TURN_TOKENS = 4096
MODES: dict[str, Mode] = {"raw": "raw", "native": "native"}
WARNED = 3
"""Contaminated items that are named."""
EVERY_S = 10.0
"""Seconds between lines of progress where the output is no terminal."""


def model_settings(
    model: str | None,
    base_url: str | None,
    *,
    mode: str | None,
    tokenizer: Path | None,
    max_turn_tokens: int | None,
    max_model_len: int | None,
    start_deadline_s: float,
    **more: Any,
) -> RunSettings:
    """Return the settings of the model under test; `more` goes to `RunSettings` as it is.

    Raises:
        ConfigError: the options don't go together.
    """
    if mode is not None and mode not in MODES:
        raise ConfigError("no such mode", where="--mode", got=mode, expected="raw or native")
    if base_url is not None or more["gold"]:
        if base_url is not None and model is None:
            raise ConfigError("no model is named", where="--base-url", fix="name it as its endpoint does, with --model")
        asked: Mode = MODES[mode] if mode else "native"
        turns = {"max_turn_tokens": max_turn_tokens or TURN_TOKENS, **more}
        return RunSettings(model=tokenizer, base_url=base_url, model_name=model or "gold", mode=asked, **turns)
    folder = _folder(model)
    context = max_model_len or context_length(folder)
    turn = max_turn_tokens or min(TURN_TOKENS, context // 4)
    serve = ServeSettings(max_model_len=context, start_deadline_s=start_deadline_s)
    return RunSettings(model=folder, mode=MODES[mode or "raw"], max_turn_tokens=turn, serve=serve, **more)


def _folder(model: str | None) -> Path:
    fix = "name a folder with --model, add --base-url for a served model, or --gold for the suite's own turns"
    if model is None:
        raise ConfigError("no model to evaluate", where="--model", fix=fix)
    if not is_model_folder(model):
        expected = "a Hugging Face folder with config.json"
        raise ConfigError("no model folder", where="--model", got=model, expected=expected, fix=fix)
    return Path(model)


def suite_options(given: Mapping[str, Any], more: Sequence[str]) -> dict[str, Any]:
    """Return the options that were given, those of `--option NAME=VALUE` among them, values read as JSON if they are.

    Raises:
        ConfigError: a text that is no NAME=VALUE.
    """
    options = {name: value for name, value in given.items() if value not in (None, [])}
    for text in more:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ConfigError("not an option", where="--option", got=text, expected="NAME=VALUE")
        options[name.strip().replace("-", "_")] = _value(value)
    return options


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def result_name(model: str | None, *, gold: bool) -> str:
    """Return a name for results, after the model: the end of its path, its parent where the end says too little."""
    if gold:
        return "gold"
    parts = [p for p in re.split(r"[/\\]+", model or "") if p not in ("", ".", "..")]
    said = "-".join(parts[-2:]) if parts and parts[-1] in ("hf", "model") else "".join(parts[-1:])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", said).strip("-._")[:80] or "model"


def contamination(train: Sequence[Path]) -> Callable[[Suite[Any]], list[str]]:
    """Return a look for a suite's items in training rows: the same request, a like one, or 13 words in a row."""

    def look(suite: Suite[Any]) -> list[str]:
        from data_synthesis.overlap.report import sample_set

        found: list[str] = []
        for path in train:
            rows = sample_set(path)
            texts = [(item.id, suite.said(item)) for item in suite.items]
            like = [i for i, text in texts if text and (rows.like(text) or rows.has_ngram(text))]
            if not any(text for _, text in texts):
                found.append(f"the suite can't be looked for in {path.name}")
            elif like:
                shown = ", ".join(like[:WARNED]) + (", …" if len(like) > WARNED else "")
                found.append(f"contamination: {len(like)} of {len(texts)} items are like rows of {path.name} ({shown})")
        return found

    return look


class Watch:
    """Progress on standard error: done, rate, time left; a line that renews itself on a terminal."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._start, self._first, self._told = time.monotonic(), -1, 0.0

    def begin(self, suite: Suite[Any]) -> None:
        """Say what is there already."""
        kept = len(finished_keys(self._place.stem.with_name(f"{self._place.name}.trajectories.jsonl")))
        if kept:
            typer.echo(f"{suite.name}: {kept} episodes are kept from before", err=True)

    def __call__(self, done: int, total: int) -> None:
        """Show progress, not too often."""
        now = time.monotonic()
        if self._first < 0:
            self._first = done - 1
        live = sys.stderr.isatty()
        if done < total and now - self._told < (0.2 if live else EVERY_S):
            return
        self._told = now
        line = progress_line(done, total, done - self._first, now - self._start)
        sys.stderr.write(f"\r{line:<70}" if live else f"{line}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._told and sys.stderr.isatty():
            sys.stderr.write("\n")


def progress_line(done: int, total: int, here: int, seconds: float) -> str:
    """Return progress in words, `here` of the episodes having been done in `seconds`."""
    rate = here / seconds if seconds > 0 else 0.0
    left = clock((total - done) / rate) if rate > 0 and done < total else "0:00"
    return f"{done}/{total} episodes  {rate:.2f}/s  {clock(seconds)} gone  {left} left"


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss, without hours where there are none."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def plain(text: object) -> str:
    """Return text without characters that would steer a terminal; ids and labels come from files."""
    return "".join(c if c.isprintable() else "�" for c in str(text))


def table(summary: Mapping[str, Any], place: Place) -> str:
    """Return a summary for a terminal: figures with intervals, breakdowns, warnings, where it is."""
    figures = [(k, v) for k, v in summary.items() if _is_interval(v) and v["value"] is not None]
    lines = [f"{plain(summary.get('suite', place.out.name))} {place.name}: {summary['n']} items"]
    lines += [f"  {plain(name).replace('_', ' '):<22} {_interval(value)}" for name, value in figures]
    for name, both in summary.get("rules", {}).items():
        if name != summary.get("leading_rules"):
            lines += [f"  {k.replace('_', ' ')} ({name})".ljust(24) + " " + _interval(v) for k, v in both.items()]
    for key in (k for k in summary if k.startswith("by_")):
        lines += [f"  by {plain(key[3:])}"]
        groups = sorted(summary[key].items(), key=lambda kv: (len(kv[0]), kv[0]) if kv[0].isdigit() else (0, kv[0]))
        width = max([20, *(min(len(plain(g)), 40) for g, _ in groups)])
        lines += [f"    {plain(g)[:40]:<{width}} {r['n']:>5}  {_interval(r.get('success_rate'))}" for g, r in groups]
    lines += _leaderboard(summary["leaderboard"]) if "leaderboard" in summary else []
    faults = summary.get("faults", {}).get("greedy", {})
    lines += ["  faults  " + ", ".join(f"{plain(k)} {v}" for k, v in faults.items())] if faults else []
    lines += [f"  note: {plain(w)}" for w in summary.get("warnings", ())]
    return "\n".join([*lines, f"  {place.summary}"])


def _leaderboard(scores: Mapping[str, Any]) -> list[str]:
    """Return the leaderboard's own figures; what was run in part is said beside them."""
    groups = ", ".join(f"{plain(name)} {share:.1%}" for name, share in scores["groups"].items())
    covered = scores["overall_covered"]
    whole = "" if covered is None else f"; {covered:.1%} over the groups with rows of every category"
    missing, partial = len(scores["missing"]), len(scores["partial"])
    told = [f"{missing} of its categories were not run"] * bool(missing) + [f"{partial} in part"] * bool(partial)
    part = f" ({', '.join(told)})" if told else ""
    return [f"  as the leaderboard has it: {scores['overall']:.2%} overall{whole}{part}", f"    {groups}"]


def comparison_table(found: Sequence[Comparison]) -> str:
    """Return comparisons for a terminal."""
    return "\n\n".join(_comparison(one) for one in found)


def _comparison(one: Comparison) -> str:
    head = f"{plain(one.before)} → {plain(one.after)}: {one.shared} items in both"
    left = f"{'figure':<18} {'before':>8} {'after':>8} {'difference':>11}"
    columns = f"  {left}  {'95 % interval':<19} {'+/−/=':<10} {'p':>6}"
    lines = [head, columns]
    lines += [_difference(name, paired) for name, paired in one.figures.items()]
    return "\n".join([*lines, *(f"  note: {plain(w)}" for w in one.warnings)])


def _difference(name: str, paired: Paired) -> str:
    """Return one figure of a comparison as a line."""
    share = name != "reward_mean"
    before, after = (_number(v, share) for v in (paired.before, paired.after))
    found = paired.difference
    change, low, high = (_number(v, share, sign=True) for v in (found.value, found.low, found.high))
    p = "–" if paired.p_value is None else f"{paired.p_value:.3g}"
    head = f"  {name.replace('_', ' '):<18} {before:>8} {after:>8} {change:>11}"
    return f"{head}  {f'{low} … {high}':<19} {f'{paired.wins}/{paired.losses}/{paired.ties}':<10} {p:>6}"


def _number(value: float | None, share: bool, *, sign: bool = False) -> str:
    if value is None:
        return "–"
    plus = "+" if sign else ""
    return f"{100 * value:{plus}.1f} %" if share else f"{value:{plus}.3f}"


def _interval(row: Mapping[str, Any] | None) -> str:
    if row is None or row["value"] is None:
        return "–"
    ends = "" if row["low"] is None else f"  [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{row['value']:.3f}{ends}  n={row['n']}"


def _is_interval(value: Any) -> bool:
    return isinstance(value, dict) and {"value", "low", "high"} <= value.keys()
