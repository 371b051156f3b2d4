"""`Session`: one trajectory's life, without any input or output of its own.

    opening() ──► policy ──► step(turn) ──► policy ──► ... ──► done ──► trajectory()

A turn is parsed, its calls are checked and answered, the answers cut and recorded. Whatever a model writes becomes
an observation or the final answer, never an exception. The same turns give the same trajectory.

After a turn these are looked at in order, and the first that holds ends the episode: the world failed, too many
unreadable calls in a row, a call beyond the limit, the token budget, the number of turns.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall, ToolResult, WorldAnswer
from environment.core.dispatch import failure, waits
from environment.core.errors import ToolRlError
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason, TokenSpan, Trajectory
from environment.session.calling import answer_call, offered_tools
from environment.session.json_text import clean_text
from environment.session.ledger import observed
from environment.session.limits import Limits
from environment.session.observation import Cut, Observation, TokenCounter, kept_keys
from environment.session.prompt import Message, assistant_message, opening_messages, tool_message
from environment.session.turns import AssistantTurn, Parser
from environment.session.world import World


class Session:
    """One rollout of one task. Not shared between threads."""

    def __init__(
        self,
        task: Task,
        world: World,
        schemas: Mapping[str, ToolSchema],
        limits: Limits,
        parser: Parser,
        seed: int | None = None,
        *,
        count: TokenCounter | None = None,
        instructions: str | None = None,
        cut: Cut | None = None,
    ) -> None:
        """Begin an episode.

        Args:
            schemas: tools by name; those the task does not offer stay unknown to the model.
            seed: kept in the trajectory; nothing here is random.
            count: tokens of a text, for cutting observations and for the token budget.
            instructions: replaces the system prompt.
            cut: cuts observations as `limits.cut(count)` does, which stands in for None.
        """
        self.task = task
        self.limits = limits
        self.stop: StopReason | None = None
        self._error: str | None = None
        self._seed = seed
        self._world = world
        self._tools = offered_tools(task, schemas)
        self._parser = parser
        self._cut = cut or limits.cut(count)
        self._opening = opening_messages(task, instructions)
        self._messages: list[Message] = list(self._opening)
        self._calls: list[ToolCall] = []
        self._results: list[ToolResult] = []
        self._seen: list[tuple[str, Observation]] = []
        self._answer = ""
        self._turns = 0
        self._tokens = 0
        self._invalid = 0
        self._invalid_in_row = 0

    @property
    def waits(self) -> bool:
        """Whether the world waits for something outside this process."""
        return waits(self._world)

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.stop is not None

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results so far, one a call."""
        return tuple(self._results)

    @property
    def call_count(self) -> int:
        """How many calls there were so far."""
        return len(self._calls)

    def results_from(self, number: int) -> list[ToolResult]:
        """Return the results of the calls from a number on, counted from 0."""
        return self._results[number:]

    @property
    def tokens_left(self) -> int:
        """Tokens of the budget that turns and observations have not used."""
        return max(self.limits.max_tokens - self._tokens, 0)

    def opening(self) -> list[Message]:
        """Return the messages the policy starts from."""
        return list(self._opening)

    def step(self, turn: AssistantTurn) -> list[Message]:
        """Take an assistant turn and return the tool messages that answer it (none after a final answer)."""
        if self.done:
            raise ToolRlError("step after the end of an episode", where=f"task {self.task.id}", got=str(self.stop))
        text = clean_text(turn.text)
        number = self._turns
        self._turns += 1
        self._tokens += turn.tokens
        self._messages.append(assistant_message(text))
        parsed = self._parser(text, number)
        if turn.truncated:
            self._end(StopReason.MAX_TOKENS)
        elif not parsed.calls:
            self._answer = parsed.text
            self._end(StopReason.ANSWER)
        before = len(self._messages)
        for position, call in enumerate(parsed.calls):
            self._record(call, self._answer_to(call, position))
        if self._tokens >= self.limits.max_tokens:
            self._end(StopReason.MAX_TOKENS)
        if self._turns >= self.limits.max_turns:
            self._end(StopReason.MAX_TURNS)
        return self._messages[before:]

    def abort(self, reason: StopReason, error: str | None = None) -> None:
        """End the episode from outside; an episode that has ended keeps its reason."""
        if not self.done:
            self._error = None if error is None else clean_text(error)
        self._end(reason)

    def trajectory(self, spans: Iterable[TokenSpan] = (), meta: Mapping[str, JsonValue] | None = None) -> Trajectory:
        """Return all that happened.

        Args:
            spans: token spans of the turns, known to the caller alone.
            meta: further facts; counts of turns, tokens and unreadable calls are always there.
        """
        if self.stop is None:
            raise ToolRlError("trajectory of an unfinished episode", where=f"task {self.task.id}", fix="abort it first")
        counts = {"turns": self._turns, "tokens": self._tokens, "unreadable_calls": self._invalid}
        return Trajectory(
            task_id=self.task.id,
            messages=tuple(self._messages),
            calls=tuple(self._calls),
            results=tuple(self._results),
            ledger=tuple(observed(self._seen)),
            stop=self.stop,
            answer=self._answer,
            seed=self._seed,
            error=self._error,
            spans=tuple(spans),
            meta={**counts, **(meta or {})},
        )

    def _end(self, reason: StopReason) -> None:
        if self.stop is None:
            self.stop = reason

    def _answer_to(self, call: ToolCall, position: int) -> WorldAnswer:
        if self.done:
            return failure(ResultStatus.NOT_EXECUTED, "the episode is over")
        if len(self._calls) >= self.limits.max_calls:
            self._end(StopReason.MAX_CALLS)
            return failure(ResultStatus.NOT_EXECUTED, f"no calls left; the limit is {self.limits.max_calls}")
        self._count_unreadable(call)
        if position >= self.limits.parallel_calls and call.status is ParseStatus.OK:
            text = f"not executed: at most {self.limits.parallel_calls} call(s) a turn"
            return failure(ResultStatus.NOT_EXECUTED, text)
        try:
            return answer_call(call, self._tools, self._world)
        except Exception as error:  # whatever a world raises is its failure, never the model's
            self.abort(StopReason.INFRASTRUCTURE, describe(error))
            return failure(ResultStatus.NOT_EXECUTED, "the tool service failed")

    def _count_unreadable(self, call: ToolCall) -> None:
        if call.status is ParseStatus.OK:
            self._invalid_in_row = 0
            return
        self._invalid += 1
        self._invalid_in_row += 1
        if self._invalid_in_row >= self.limits.max_invalid:
            self._end(StopReason.MAX_INVALID)

    def _record(self, call: ToolCall, answer: WorldAnswer) -> None:
        ok = answer.status is ResultStatus.OK
        observation = self._cut(answer.value, kept_keys(self._tools[call.name]) if ok else ())
        self._calls.append(call)
        self._results.append(ToolResult(call.id, answer.status, answer.value, observation.text))
        self._messages.append(tool_message(observation))
        self._tokens += observation.tokens
        if ok:
            self._seen.append((call.id, observation))


def describe(error: BaseException) -> str:
    """Return an exception as text: its type and message."""
    return f"{type(error).__name__}: {error}"
