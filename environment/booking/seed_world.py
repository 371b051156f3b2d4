"""`SeedWorld`: a whole travel site computed from a seed, so that everything runs without recorded data.

Cities, airports and coordinates are real; hotels, flights, cars and tours are made up, small and consistent with each
other: what a search says of a thing, its details say too. An answer is a function of the seed, the size and the call;
no search is remembered. Its value is {"data": ...}; unknown ids and dates outside 2026 and 2027 are a miss.
"""
from __future__ import annotations

from collections.abc import Mapping

from environment.booking.attractions import Attractions
from environment.booking.cars import Cars
from environment.booking.facts import Answer, Facts, WorldSize
from environment.booking.flights import Flights
from environment.booking.hotels import Hotels
from environment.booking.schemas import load_schemas
from environment.booking.taxis import Taxis
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.dispatch import answer_call
from environment.core.schema import ToolSchema
from environment.core.validate import check_canonical

__all__ = ["SeedWorld", "WorldSize"]


class SeedWorld:
    """A deterministic simulator of the BookingAPI tools."""

    def __init__(
        self,
        seed: int = 0,
        size: WorldSize | None = None,
        schemas: Mapping[str, ToolSchema] | None = None,
        *,
        linked: bool = False,
    ) -> None:
        """Make the world of a seed and size.

        Args:
            seed: of everything in it.
            size: how much there is.
            schemas: its tools; those of the project by default.
            linked: answers also carry what leads from one family of tools to another, as the real service's do: where
                destinations, hotels and taxi stops lie, the city of an attraction, the destination of a nearby city,
                and landmarks that can be looked up. Chains across families need it; plain requests are shorter without.
        """
        self.seed, self.size = seed, size or WorldSize()
        self.schemas: Mapping[str, ToolSchema] = schemas or load_schemas()
        self.facts = Facts(seed, self.size, linked)
        self.hotels, self.flights = Hotels(self.facts), Flights(self.facts)
        self.attractions, self.cars = Attractions(self.facts), Cars(self.facts)
        self.taxis = Taxis(self.facts, self.hotels)
        self._tools: dict[str, Answer] = {}
        for family in (self.hotels, self.flights, self.attractions, self.cars, self.taxis):
            self._tools |= family.tools

    @property
    def provenance(self) -> str:
        """Where a recorded answer of this world says it comes from."""
        return f"seed-world seed={self.seed}" + (" linked" if self.facts.linked else "")

    @property
    def stopped(self) -> str | None:
        """Never: a simulator can always be asked."""
        return None

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the answer to one call; unknown tools, wrong arguments and misses are answers too."""
        return answer_call(self.schemas, name, arguments, self._look_up)

    def _look_up(self, schema: ToolSchema, arguments: dict[str, JsonValue]) -> WorldAnswer | None:
        if check_canonical(schema, arguments):
            return None
        data = self._tools[schema.name](arguments) if schema.name in self._tools else None
        return None if data is None else WorldAnswer(ResultStatus.OK, {"data": data})
