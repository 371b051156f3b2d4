"""ComplexFuncBench by the flags of ToolOrchestrationReward: a thin entry to `tool-rl eval complexfuncbench`.

    python evaluation/evaluation.py --model_name runs/x/hf --input_file ComplexFuncBench.jsonl --use-bfcl
    python evaluation/evaluation.py --model_name qwen3 --vllm_url http://127.0.0.1:8000/v1 --proc_num 16 --use-bfcl

It plays and judges by the rule set `reference` and writes result/MODEL/EXP.jsonl in that evaluator's layout, besides
the summary (EXP.json, by both rule sets) and the episodes. Run again, it repeats only what is missing.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

FEW = 3
"""Entries of a `--debug` run: the first ones, so that two such runs compare."""


def parser() -> argparse.ArgumentParser:
    """Return the reference's flags, and ours after them."""
    flags = argparse.ArgumentParser(prog="evaluation.py", description=(__doc__ or "").partition("\n")[0])
    flags.add_argument("--model_name", required=True, help="a Hugging Face folder, or the name an endpoint knows")
    flags.add_argument("--input_file", type=Path, default=Path("data/ComplexFuncBench.jsonl"))
    flags.add_argument("--exp_name", default="full-1000", help="names the results")
    flags.add_argument("--vllm_url", help="an OpenAI-compatible address that ends in /v1")
    flags.add_argument("--proc_num", type=int, default=1, help="entries at once")
    flags.add_argument("--debug", action="store_true", help=f"the first {FEW} entries alone")
    flags.add_argument("--enable-response-eval", action="store_true", help="grade answers by a judging model")
    flags.add_argument("--use-bfcl", action="store_true", help="accepted; answers always come from what is recorded")
    flags.add_argument("--log_dir", help="accepted; what happened is in the trajectories beside the results")
    flags.add_argument("--world", type=Path, help="a recorded world beside the file's own observations")
    flags.add_argument("--judge_model", default="gpt-4o", help="grades answers")
    flags.add_argument("--judge_url", default="https://api.openai.com/v1", help="where it is asked")
    return flags


def main(arguments: Sequence[str]) -> int:
    """Evaluate and return the exit status: 1 as well while entries are owed, as the infrastructure failed them."""
    from environment.core.errors import ToolRlError
    from environment.core.signals import leave_in_order_on_sigterm
    from evaluation.suites.complexfuncbench.entry import evaluate

    flags = parser().parse_args(arguments)
    leave_in_order_on_sigterm()
    try:
        told, owed = evaluate(flags, few=FEW)
    except ToolRlError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    except KeyboardInterrupt:
        sys.stderr.write("stopped; what is finished is kept, run again to go on\n")
        return 130
    sys.stdout.write(told + "\n")
    return 1 if owed else 0


def _start_as_module() -> None:
    """Start again as a module: run as a file, this folder leads the import path, and this file hides its package."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "evaluation.evaluation", *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": path})


if __name__ == "__main__":
    if not __package__:
        _start_as_module()
    sys.exit(main(sys.argv[1:]))
