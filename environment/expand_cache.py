"""Script entry with the reference's flags: grow a recorded world by asking an upstream.

python -m environment.expand_cache --cache-path world.db --upstream seed --workflows all
"""
from __future__ import annotations

from environment.expansion.entry import main

if __name__ == "__main__":
    raise SystemExit(main())
