"""`leave_in_order_on_sigterm`: for commands that start servers or make temporary files."""
from __future__ import annotations

import signal
import threading
from types import FrameType


def leave_in_order_on_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does, so that servers and temporary files go with it.

    Called outside the main thread it does nothing: only there may signals be handled.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
