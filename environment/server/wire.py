"""What goes over the wire: pydantic models, strict about names, so that a typo is an error with its place."""
from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from environment.core.calls import JsonValue

MOST_STEPS = 1024
"""Steps one batch may carry."""


class Wire(BaseModel):
    """Base of all requests."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CallRequest(Wire):
    """One call outside any session: no limits, no ledger."""

    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class OpenRequest(Wire):
    """Begin a session."""

    task: dict[str, Any]
    """`Task.to_json()`: id, query, tools, steps."""
    limits: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Of `environment.session.Limits`; what is not named keeps the server's value."""
    seed: int | None = None
    instructions: str | None = None


class StepRequest(Wire):
    """One assistant turn."""

    number: int = Field(ge=0)
    """How many turns came before. The last number and text again get the last reply again and change nothing."""
    text: str
    """What the assistant wrote, calls included; without a call it is the final answer."""
    tokens: int = Field(default=0, ge=0)
    truncated: bool = False


class BatchStep(StepRequest):
    """A step of one session among many."""

    session: str


class BatchRequest(Wire):
    """Steps of many sessions."""

    steps: list[BatchStep] = Field(max_length=MOST_STEPS)


class ObservationRequest(BaseModel):
    """verl-tool's request: one action text a trajectory. What else its clients send is of no use here."""

    model_config = ConfigDict(extra="ignore")

    trajectory_ids: list[str]
    actions: list[str]
