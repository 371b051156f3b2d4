"""The viewer of trajectories: a page of this machine's own, for looking at what a model did, episode by episode."""
from __future__ import annotations
