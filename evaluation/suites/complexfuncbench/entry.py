"""What `evaluation/evaluation.py` does with its flags."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, cast

from environment.core.errors import ConfigError
from evaluation.job import EvalJob, run_job
from evaluation.runner import SAFE_NAME, Place
from evaluation.serve import ServeSettings
from evaluation.settings import RunSettings, context_length
from evaluation.suite import Suite
from evaluation.suites.complexfuncbench.records import write_records
from evaluation.suites.complexfuncbench.suite import ComplexFuncBench

HOSTED = "https://api.openai.com/v1"
"""Where a model is asked that is neither a folder nor behind `--vllm_url`."""
TURN_TOKENS = 4096
FIGURES = ("success_rate", "turn_accuracy", "call_accuracy")


def evaluate(flags: argparse.Namespace, few: int) -> str:
    """Evaluate, write the records, and return a line that says what came of it."""
    folder = Path("result", *_parts(flags.model_name, "--model_name"))
    name = f"{flags.exp_name}-debug" if flags.debug else flags.exp_name
    place = Place(folder, name)
    job = EvalJob("complexfuncbench", _options(flags, few), _settings(flags), place)
    records, written = folder / f"{name}.jsonl", list[int]()

    def write(suite: Suite[Any]) -> None:
        trajectories = folder / f"{name}.trajectories.jsonl"
        written.append(write_records(cast("ComplexFuncBench", suite), trajectories, records))

    summary = run_job(job, after=write)
    figures = "  ".join(f"{name.replace('_', ' ')} {_percent(summary[name])}" for name in FIGURES)
    owed = summary["infrastructure"]
    return f"{written[0]} records in {records}: {figures}" + (f"; {owed} owed, run again" if owed else "")


def _options(flags: argparse.Namespace, few: int) -> dict[str, Any]:
    options: dict[str, Any] = {"data": flags.input_file, "world": flags.world, "rules": "reference"}
    if flags.enable_response_eval:
        options |= {"judge_model": flags.judge_model, "judge_base_url": flags.judge_url}
    return {**options, "limit": few} if flags.debug else options


def _settings(flags: argparse.Namespace) -> RunSettings:
    local = Path(flags.model_name)
    served = flags.vllm_url is None and (local / "config.json").is_file()
    return RunSettings(
        model=local if served else None,
        base_url=None if served else flags.vllm_url or HOSTED,
        model_name="policy" if served else flags.model_name.removeprefix("openai/"),
        mode="raw" if served else "native",
        samples=0,
        max_turn_tokens=min(TURN_TOKENS, context_length(local) // 4) if served else TURN_TOKENS,
        serve=ServeSettings(max_model_len=context_length(local)) if served else ServeSettings(),
        concurrency=flags.proc_num,
    )


def _parts(name: str, flag: str) -> list[str]:
    """Return a model's name as folders of its own, as the reference lays them; nothing outside result/."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or not all(SAFE_NAME.fullmatch(part) for part in parts):
        raise ConfigError("a name that can't be a folder", where=flag, got=name, expected="plain names, / between them")
    return parts


def _percent(interval: dict[str, Any]) -> str:
    return "–" if interval["value"] is None else f"{interval['value']:.1%}"
