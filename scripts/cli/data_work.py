"""The stages that make data: the world, the rows, the parquet."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from data_synthesis.card.synth import write_synth_card
from data_synthesis.llm_writer import reword
from data_synthesis.mix import Mix
from data_synthesis.preprocess.card import amend_preprocess_card
from data_synthesis.preprocess.rl import preprocess_rl
from data_synthesis.preprocess.sft import preprocess_sft
from data_synthesis.records import read_records, write_records
from data_synthesis.rehearse import Rehearsal
from data_synthesis.synth import SynthConfig, synthesise
from data_synthesis.templates.load import load_set
from data_synthesis.writer import WriterConfig
from environment.booking.schemas import load_schemas
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache, import_records
from environment.cache.report import BuildReport
from environment.core.errors import ConfigError, DataError, nearest_name
from environment.server.endpoint.ask import AskSettings
from environment.server.endpoint.connect import EndpointSettings
from environment.server.opening import write_reference
from scripts.cli.fitting import Length, keep_fitting, rl_length, sft_length
from scripts.cli.progress import say
from training.launch.paths import RunPaths
from training.launch.prompt_length import conversation_length, token_count
from training.launch.settings import ToolRl

SPLITS = ("train", "heldout")
HELD_BACK = 5
"""Without held-out rows of their own, about every fifth workflow of the given rows is held out."""


def world(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Make RUN/data/world.db: simulated, imported from records, or a given file; or name the server that has it."""
    del config
    chosen = settings.world
    if chosen.kind == "http":
        paths.data.mkdir(parents=True, exist_ok=True)
        say(**write_reference(paths.world_of("http"), str(chosen.url), load_schemas(schema_file(settings))))
        return
    half = paths.world.with_name(f".world.{os.getpid()}.db")
    half.parent.mkdir(parents=True, exist_ok=True)
    if chosen.kind == "file":
        shutil.copyfile(str(chosen.path), half)
    else:
        imported = chosen.kind == "import"
        report = _import(half, settings) if imported else _simulated(half, settings)
        say(entries=report.entries, tools=len(report.by_tool), conflicts=len(report.conflicts), skipped=report.skipped)
    half.replace(paths.world)


def synth(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Write the rows of both splits from the world."""
    del config
    wanted = settings.synth
    shares = {name: shares for name, shares in wanted.mix.model_dump().items() if shares is not None}
    long = wanted.templates != "default"
    mix = Mix(**({"steps": {}} | shares if long else shares))
    synth_config = SynthConfig(
        mix=mix, writer=WriterConfig(**wanted.writer.model_dump()), distractors=wanted.distractors,
        distractors_by=wanted.distractors_by, difficulty=long, prune=long,
    )  # fmt: skip
    report = synthesise(
        paths.world, schema_file(settings), paths.data, wanted.train, wanted.heldout, wanted.seed,
        config=synth_config,
        templates=wanted.templates,
        observation_tokens=settings.limits.observation_tokens,
        count=token_count(paths.model),
    )  # fmt: skip
    say(**report.to_json())
    _reword(paths, settings)
    write_synth_card(paths.data, report, {"seed": wanted.seed}, load_schemas(schema_file(settings)))
    for name, split, least in (("train", report.train, 1), ("heldout", report.heldout, settings.evaluate.rows)):
        if split.rows < least:
            raise DataError(
                f"only {split.rows} {name} rows could be made",
                where="synth",
                expected=f"at least {least}",
                fix="a larger world (tool_rl.world.size), or fewer rows (tool_rl.evaluate.rows)",
            )


def _reword(paths: RunPaths, settings: ToolRl) -> None:
    """Let a model word the queries, where one is set."""
    llm = settings.synth.llm
    if llm.model is None:
        return
    schemas = load_schemas(schema_file(settings))
    endpoint = EndpointSettings(
        llm.base_url, llm.model, llm.key_env, llm.concurrency, ask=AskSettings(llm.temperature, 512),
        max_tokens=llm.max_tokens, cache=paths.data / "synth.replies.db",
    )  # fmt: skip
    patterns = {pattern.id: pattern for pattern in load_set(schemas, settings.synth.templates)}
    report = reword([paths.rows(split) for split in SPLITS], patterns, schemas, endpoint)
    say(**asdict(report))


def preprocess(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Turn rows into the parquet files that SFT and RL read."""
    rows = {split: paths.rows(split) for split in SPLITS}
    if settings.data.train:
        rows = _own_rows(paths, settings)
    for split, source in rows.items():
        _rl_parquet(source, paths.parquet("rl", split), settings)
    if settings.sft.enabled:
        report = preprocess_sft(
            rows["train"], paths.world_of(settings.world.kind), paths.parquet("sft", "train"),
            settings.limits.observation_tokens, token_count(paths.model), schemas_path=schema_file(settings),
            max_tools=settings.preprocess.max_tools, instructions=settings.task.instructions,
        )  # fmt: skip
        print(report.summary(), flush=True)
    _leave_out_long(paths, settings, config)


def _leave_out_long(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    count = conversation_length(paths.model)
    if count is None:
        say(note="no tokenizer or chat template to measure rows by; none left out")
        return
    length, limit = rl_length(count, schema_file(settings)), int(config.data.max_prompt_length)
    for split, least in (("train", int(config.data.train_batch_size)), ("heldout", 1)):
        _fit(paths.parquet("rl", split), length, limit, least, "data.max_prompt_length")
    if settings.sft.enabled:
        _fit(paths.parquet("sft", "train"), sft_length(count), settings.sft.max_length, 1, "tool_rl.sft.max_length")


def _fit(file: Path, length: Length, limit: int, least: int, key: str) -> None:
    facts = keep_fitting(file, length, limit, least, key)
    say(**facts)
    if file.with_suffix(".card.json").exists():  # a parquet that was given has none
        amend_preprocess_card(file, {f"rows of at most {limit} tokens, the others left out": facts["kept"]})


def _rl_parquet(source: Path, output: Path, settings: ToolRl) -> None:
    if source.suffix == ".parquet":
        shutil.copyfile(source, output)
        return
    report = preprocess_rl(
        source, output, schemas_path=schema_file(settings), max_tools=settings.preprocess.max_tools,
        instructions=settings.task.instructions,
    )  # fmt: skip
    print(report.summary(), flush=True)


def schema_file(settings: ToolRl) -> Path | None:
    """Return the tool schema file, None for the project's own."""
    return Path(settings.task.schemas) if settings.task.schemas else None


def _simulated(out: Path, settings: ToolRl) -> BuildReport:
    """Record the simulated world; for long templates linked, with what they lead to."""
    chosen, wanted = settings.world, settings.synth
    if wanted.templates == "default":
        return build_seed_cache(out, chosen.seed, _size(settings))
    patterns = load_set(load_schemas(schema_file(settings)), wanted.templates)
    rehearsal = Rehearsal(patterns, heldout_share=SynthConfig.heldout_share, seed=wanted.seed)
    return build_seed_cache(out, chosen.seed, _size(settings), linked=True, more=rehearsal.calls)


def _size(settings: ToolRl) -> WorldSize:
    known = WorldSize.__dataclass_fields__
    for name in settings.world.size:
        if name not in known:
            raise ConfigError(
                "no such measure of the world",
                where="tool_rl.world.size",
                got=name,
                expected=", ".join(known),
                nearest=nearest_name(name, known),
            )
    return WorldSize(**{name: number for name, number in settings.world.size.items() if number is not None})


def _import(out: Path, settings: ToolRl) -> Any:
    files = [Path(name) for name in (settings.data.train, settings.data.heldout) if name]
    rows = chain.from_iterable(read_records(path) for path in files if path.suffix != ".parquet")
    return import_records(out, rows, load_schemas(schema_file(settings)))


def _own_rows(paths: RunPaths, settings: ToolRl) -> dict[str, Path]:
    """Return the given rows by split; rows without held-out ones are split by workflow."""
    train, heldout = settings.data.train, settings.data.heldout
    assert train is not None
    if heldout is not None or train.endswith(".parquet"):
        return {"train": Path(train), "heldout": Path(heldout or train)}
    records = list(read_records(Path(train)))
    parts = {"train": [r for r in records if not _held_back(r)], "heldout": [r for r in records if _held_back(r)]}
    for split, found in parts.items():
        if not found:
            raise DataError(
                f"too few workflows to hold some out: no {split} rows",
                where=train,
                fix="name held-out rows with TEST_DATA_PATH",
            )
        write_records(paths.rows(split), found)
    return {split: paths.rows(split) for split in parts}


def _held_back(record: dict[str, Any]) -> bool:
    name = str(record.get("workflow_id") or record.get("id") or record.get("query"))
    return hashlib.sha256(name.encode()).digest()[0] % HELD_BACK == 0
