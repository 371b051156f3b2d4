"""Starting the command line in a process of its own."""
from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Take Ctrl-C as at a terminal, as `preexec_fn`: who is started in the background by a shell ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
