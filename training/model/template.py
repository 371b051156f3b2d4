"""The chat template that the CPU profiles train, roll out and serve with: one text for SFT, RL and evaluation."""
from __future__ import annotations

from pathlib import Path


def chat_template() -> str:
    """Return the Jinja text of the template."""
    return (Path(__file__).parent / "chat_template.jinja").read_text(encoding="utf-8")
