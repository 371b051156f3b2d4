"""A pattern as a picture: SVG, self-contained, one column a level, one box a step, one line an edge.

A box names the step, its tool and what the user gives it; a line says which argument it feeds and from which field.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from data_synthesis.templates.model import FromStep, FromUser, Pattern, Step

_WIDTH, _GAP, _LINE, _MARGIN, _HEAD = 270, 150, 16, 24, 46
_COLOURS = {
    "text": "#1f2933", "dim": "#52606d", "box": "#ffffff", "edge": "#3e63a8", "user": "#8a5a00", "page": "#f5f7fa",
}  # fmt: skip


@dataclass(frozen=True)
class _Box:
    step: Step
    x: int
    y: int

    @property
    def height(self) -> int:
        return _HEAD + _LINE * len(_given(self.step))


def svg(pattern: Pattern) -> str:
    """Return the picture of a pattern as an SVG document."""
    boxes = _laid_out(pattern)
    width = _MARGIN * 2 + len(pattern.levels) * (_WIDTH + _GAP) - _GAP
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN
    title = f"{pattern.id}: {len(pattern.steps)} steps, {len(pattern.levels)} levels"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="system-ui, sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{_COLOURS["edge"]}"/></marker></defs>',
        f'<rect width="100%" height="100%" fill="{_COLOURS["page"]}"/>',
        _text(_MARGIN, _MARGIN + 4, title, weight="600", size=15),
        *_edges(pattern, boxes),
        *(line for box in boxes.values() for line in _drawn(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _laid_out(pattern: Pattern) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    for number, level in enumerate(pattern.levels):
        y = _MARGIN * 2 + 8
        for step in level:
            boxes[step.name] = box = _Box(step, _MARGIN + number * (_WIDTH + _GAP), y)
            y += box.height + 26
    return boxes


def _given(step: Step) -> list[str]:
    """Return a line for every argument the user gives."""
    return [
        f"{argument} = {source.variable}{' (optional)' if source.optional else ''}"
        for argument, source in step.give.items()
        if isinstance(source, FromUser)
    ]


def _drawn(box: _Box) -> Iterator[str]:
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{_WIDTH}" height="{box.height}" rx="7" fill="{_COLOURS["box"]}"'
        f' stroke="{_COLOURS["dim"]}"/>'
    )
    yield _text(box.x + 12, box.y + 19, box.step.name, weight="600", size=13)
    yield _text(box.x + 12, box.y + 36, box.step.tool, colour="dim")
    for number, line in enumerate(_given(box.step)):
        yield _text(box.x + 12, box.y + _HEAD + 8 + _LINE * number, _clip(line, 42), colour="user")


def _edges(pattern: Pattern, boxes: dict[str, _Box]) -> Iterator[str]:
    """Yield one line for each pair of steps; its label stands where it arrives."""
    for step in pattern.steps:
        producers = [p for p in pattern.steps if p.name in step.producers]
        for number, producer in enumerate(producers):
            start, end = boxes[producer.name], boxes[step.name]
            x1, y1 = start.x + _WIDTH, start.y + start.height // 2
            x2, y2 = end.x, end.y + end.height * (number + 1) // (len(producers) + 1)
            bend = (x1 + x2) // 2
            label, detail = _label(step, producer)
            yield (
                f'<path d="M{x1} {y1}C{bend} {y1} {bend} {y2} {x2} {y2}" fill="none" stroke="{_COLOURS["edge"]}"'
                f' stroke-width="1.6" marker-end="url(#tip)"><title>{escape(detail)}</title></path>'
            )
            yield _text(x2 - 10, y2 - 5, _clip(label, 24), colour="edge", anchor="end", size=11, halo=True)


def _label(step: Step, producer: Step) -> tuple[str, str]:
    taken = [(a, s) for a, s in step.give.items() if isinstance(s, FromStep) and s.step == producer.name]
    return ", ".join(a for a, _ in taken), "; ".join(f"{a} from {producer.name}.{s.field}" for a, s in taken)


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _text(
    x: int,
    y: int,
    text: str,
    *,
    colour: str = "text",
    weight: str = "400",
    size: int = 12,
    anchor: str = "start",
    halo: bool = False,
) -> str:
    """Return a line of text; `halo` keeps it readable where lines cross it."""
    clear = f' paint-order="stroke" stroke="{_COLOURS["page"]}" stroke-width="4"' if halo else ""
    return (
        f'<text x="{x}" y="{y}" fill="{_COLOURS[colour]}" font-weight="{weight}" font-size="{size}"'
        f' text-anchor="{anchor}"{clear}>{escape(text)}</text>'
    )
