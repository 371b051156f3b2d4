"""Other names of places: what a person may call a city that the service knows by one name."""
from __future__ import annotations

from environment.core.canonical import fold_text

ALIASES: dict[str, tuple[str, ...]] = {
    "new york": ("NYC", "New York City", "Big Apple"),
    "los angeles": ("LA", "L.A."),
    "san francisco": ("SF", "San Fran"),
    "washington": ("Washington, D.C.", "Washington DC"),
    "las vegas": ("Vegas",),
    "rio de janeiro": ("Rio",),
    "mumbai": ("Bombay",),
    "bangalore": ("Bengaluru",),
    "ho chi minh city": ("Saigon",),
    "beijing": ("Peking",),
    "kyiv": ("Kiev",),
    "prague": ("Praha",),
    "vienna": ("Wien",),
    "munich": ("München", "Munchen"),
    "cologne": ("Köln", "Koln"),
    "rome": ("Roma",),
    "milan": ("Milano",),
    "florence": ("Firenze",),
    "venice": ("Venezia",),
    "naples": ("Napoli",),
    "lisbon": ("Lisboa",),
    "seville": ("Sevilla",),
    "geneva": ("Genève", "Geneve"),
    "zurich": ("Zürich",),
    "copenhagen": ("København",),
    "warsaw": ("Warszawa",),
    "krakow": ("Kraków", "Cracow"),
    "brussels": ("Bruxelles",),
    "istanbul": ("Constantinople",),
    "marrakesh": ("Marrakech",),
    "mexico city": ("CDMX",),
    "bogota": ("Bogotá",),
    "montreal": ("Montréal",),
    "kuala lumpur": ("KL",),
    "hong kong": ("HK",),
}
"""Folded name of a city → what else it is called."""


def also(name: str) -> tuple[str, ...]:
    """Return everything a text may call a place: its name, and the other names of the same city."""
    return (name, *ALIASES.get(fold_text(name), ()))
