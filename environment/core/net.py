"""What every client and server here asks of an address and of a reply's headers."""
from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Tell whether a host, by name or number, is this machine; a name is not looked up."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def seconds_asked(header: str | None) -> float | None:
    """Return the seconds a `Retry-After` header asks for, as a number or as a date; None where it says nothing."""
    if header is None:
        return None
    if header.strip().isascii() and header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
