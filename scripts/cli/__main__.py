"""`python -m scripts.cli` is `tool-rl`."""

from __future__ import annotations

from scripts.cli import main

if __name__ == "__main__":
    main()
