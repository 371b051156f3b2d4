"""The ledger: every value a model has seen, with the place it came from."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from environment.core.trajectory import Observed
from environment.session.observation import Observation


def observed(seen: Iterable[tuple[str, Observation]]) -> Iterator[Observed]:
    """Yield the values of observations, each given with the id of its call, in the order in which they were seen."""
    for call_id, observation in seen:
        for path, value in observation.values:
            yield Observed(call_id, path, value)
