"""The report of a run: one self-contained HTML file without scripts or network."""
from __future__ import annotations

from evaluation.report.page import build_report

__all__ = ["build_report"]
