"""The report of a run: one self-contained HTML file without scripts or network."""
from evaluation.report.page import build_report

__all__ = ["build_report"]
