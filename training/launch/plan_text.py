"""The plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from training.launch.plan import GIB, Plan

STATES = {
    "done": "reused", "new": "runs", "started": "continues", "changed": "runs again: inputs changed",
    "damaged": "runs again: output missing or altered", "waits": "runs if an earlier stage gives something new",
}  # fmt: skip
"""What each state of a stage means for a run, in words."""


def render_plan(plan: Plan, verl_words: str = "") -> str:
    """Return the plan, one section after the other.

    Args:
        plan: what would happen.
        verl_words: what verl's own validator said, in one line.
    """
    need = sum(size for _, size in plan.disk)
    disk = [(name, f"{size / GIB:.2f} GiB") for name, size in plan.disk if size >= GIB / 200]
    disk.append(("together", f"about {need / GIB:.1f} GiB; {plan.disk_free / GIB:.0f} GiB free"))
    head = [("profile", f"{plan.profile} ({plan.reason})"), ("run", plan.run_dir), ("machine", plan.hardware)]
    sections = [
        _section("", head),
        _section("stages", _stages(plan)),
        _section("who runs where", plan.roles),
        _section("batches", plan.batches),
        _section("tokens", plan.tokens),
        _section("disk", disk),
        _section("settings", [(source, text) for text, source in plan.settings]),
    ]
    checks = ["our keys and their arithmetic: fine", *([verl_words] if verl_words else [])]
    sections.append("\n".join(["checks", *(f"  {line}" for line in checks)]))
    notes = [f"note: {notice}" for notice in plan.notices]
    if need > plan.disk_free:
        notes.append("note: the disk is too small for this run")
    return "\n".join([*sections, *notes, "nothing was started"])


def _stages(plan: Plan) -> list[tuple[str, str]]:
    width = max(len(stage.does) for stage in plan.stages)
    rows = [(s.name, f"{s.does:<{width}}  {s.device:<7} {STATES[s.state]}") for s in plan.stages]
    return rows + [(name, f"left out: {why}") for name, why in plan.skipped.items()]


def _section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"  {name:<{width}}  {text}" for name, text in rows]
    return "\n".join([title, *lines] if title else [line[2:] for line in lines])
