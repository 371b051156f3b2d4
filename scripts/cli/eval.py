"""`tool-rl eval SUITE`: measure a model on a suite, and `tool-rl compare A B`: two results side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

OUT = Path("runs/evals")


def eval_(
    suite: Annotated[str, typer.Argument(help="heldout, complexfuncbench or bfcl.")],
    model: Annotated[str | None, typer.Option(help="A Hugging Face folder, or a name at --base-url.")] = None,
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible address that ends in /v1.")] = None,
    gold: Annotated[bool, typer.Option("--gold", help="Play gold turns: a check of data and rules.")] = False,
    data: Annotated[Path | None, typer.Option(help="The suite's rows.")] = None,
    world: Annotated[Path | None, typer.Option(help="A recorded world (.db).")] = None,
    rules: Annotated[str | None, typer.Option(help="complexfuncbench: strict or reference.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="bfcl: a category; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many items.")] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Any option of the suite.")] = None,
    seeds: Annotated[int, typer.Option(help="Sampled episodes an item, beside the greedy one.")] = 0,
    seed: Annotated[int, typer.Option(help="The seeds of sampling are drawn from this.")] = 0,
    temperature: Annotated[float, typer.Option(help="Of the sampled episodes.")] = 1.0,
    top_p: Annotated[float, typer.Option(help="Of the sampled episodes.")] = 1.0,
    max_turn_tokens: Annotated[int | None, typer.Option(help="Of one turn; by default 4096 at most.")] = None,
    max_model_len: Annotated[int | None, typer.Option(help="Served here: the longest conversation in tokens.")] = None,
    start_timeout: Annotated[float, typer.Option(help="Served here: seconds until the server must be ready.")] = 300.0,
    mode: Annotated[str | None, typer.Option(help="raw: we read the text; native: tool_calls.")] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Beside --base-url: the model's folder.")] = None,
    concurrency: Annotated[int, typer.Option(help="Episodes at once.")] = 16,
    timeout: Annotated[float, typer.Option(help="Seconds an episode may take.")] = 900.0,
    tries: Annotated[int, typer.Option(help="Tries of one request in all.")] = 6,
    key_env: Annotated[str, typer.Option(help="Environment variable that holds the key.")] = "OPENAI_API_KEY",
    train: Annotated[list[Path] | None, typer.Option(help="Training rows to look for items in.")] = None,
    judge_model: Annotated[str | None, typer.Option(help="complexfuncbench: a model that grades answers.")] = None,
    judge_base_url: Annotated[str | None, typer.Option(help="Its address.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results; runs/evals/SUITE by default.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the results; after the model by default.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Go on with a run begun with other settings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Measure a model on a suite. Run again, it repeats only what is missing.

    Ends with status 1 while episodes are owed, as the endpoint or the world failed them; they never count as wrong.

    Example: tool-rl eval complexfuncbench --data ComplexFuncBench.jsonl --model runs/x/hf

    Example: tool-rl eval bfcl --category simple_python --model qwen3-8b --base-url http://127.0.0.1:8000/v1
    """
    from environment.core.signals import leave_in_order_on_sigterm
    from evaluation.job import EvalJob, run_job
    from evaluation.runner import Place
    from scripts.cli.eval_work import Watch, contamination, model_settings, result_name, suite_options, table

    given = {"data": data, "world": world, "rules": rules, "categories": category, "limit": limit,
             "judge_model": judge_model, "judge_base_url": judge_base_url}  # fmt: skip
    settings = model_settings(
        model, base_url, gold=gold, mode=mode, tokenizer=tokenizer, max_turn_tokens=max_turn_tokens,
        max_model_len=max_model_len, start_deadline_s=start_timeout, samples=seeds, seed=seed,
        temperature=temperature, top_p=top_p, concurrency=concurrency, item_seconds=timeout,
        retry_tries=tries, api_key_env=key_env,
    )  # fmt: skip
    place = Place(out or OUT / suite, name or result_name(model, gold=gold))
    job = EvalJob(suite, suite_options(given, option or []), settings, place, force, contamination(train or []))
    watch = Watch(place)
    leave_in_order_on_sigterm()
    summary = run_job(job, before=watch.begin, progress=watch)
    watch.end()
    typer.echo(json.dumps(summary, indent=1) if as_json else table(summary, place))
    if summary["infrastructure"]:
        raise typer.Exit(1)


def compare(
    before: Annotated[Path, typer.Argument(help="A summary (.json), a folder of them, or a run.")],
    after: Annotated[Path, typer.Argument(help="What to compare it with, item by item.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare results on the items both have: differences with 95 % intervals, wins and losses, McNemar's p.

    Example: tool-rl compare runs/cpu_smol-seed1/eval/sft.json runs/cpu_smol-seed1/eval/rl.json
    """
    from evaluation.comparison import comparisons
    from scripts.cli.eval_work import comparison_table

    found = comparisons(before, after)
    typer.echo(json.dumps([one.to_json() for one in found], indent=1) if as_json else comparison_table(found))
