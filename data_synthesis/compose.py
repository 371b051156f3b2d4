"""Requests put together from the steps: no sentences are written for the pattern, each tool says what it gives.

    look-ups (silent)      said only through what is traced back to them: "in Oslo", "the airport of Oslo"
    a search               "hotels in Oslo from 3 May to 5 May for two adults"           ┐ one group,
    pages of its items     "the policies and the reviews of the cheapest hotel"          ┘ one or two sentences
    anything else          a group of its own; groups that speak of another's items come after it

An item is called by the rule that picks it, a derived value by what it is ("the first open day of the City Museum").
A date said before may be called by its part ("the day of check-out"). What the texts are is in the templates' `tools`.
"""
from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from data_synthesis.grammar import part, tidy
from data_synthesis.paths import generic
from data_synthesis.search import Chain
from data_synthesis.speaker import Said, Speaker, WriterConfig
from data_synthesis.templates.model import COUNTED, FromStep, FromUser, Kind, Rule, Step
from data_synthesis.words import NUMBERS, pick_in_words, pick_plainly
from environment.core.calls import JsonValue

ROLES: Mapping[str, str] = {
    "arrival_date": "check_in", "min_date": "check_in", "departure_date": "check_out", "max_date": "check_out",
    "adults": "adults", "children": "children", "children_age": "children", "room_qty": "rooms",
    "departDate": "depart", "returnDate": "return", "cabinClass": "cabin", "date": "visit_day",
    "price_min": "price_min", "price_max": "price_max", "radius": "radius",
    "sort": "flight_sort", "sort_by": "hotel_sort", "sortBy": "attraction_sort",
    "pick_up_date": "pick_up_date", "pick_up_time": "pick_up_time",
    "drop_off_date": "drop_off_date", "drop_off_time": "drop_off_time",
}  # fmt: skip
"""Argument → what the speaker calls it."""
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("adults", "rooms", "radius"), Kind.COUNT),
    **dict.fromkeys(("cabin", "flight_sort", "hotel_sort", "attraction_sort"), Kind.CHOICE),
    **dict.fromkeys(("pick_up_time", "drop_off_time"), Kind.TIME),
    **dict.fromkeys(("check_in", "check_out", "depart", "return", "visit_day"), Kind.DATE),
    **dict.fromkeys(("pick_up_date", "drop_off_date"), Kind.DATE),
    "children": Kind.AGES, "price_min": Kind.MONEY, "price_max": Kind.MONEY,
}  # fmt: skip
"""What the speaker calls it → its kind."""
CALLED: Mapping[str, tuple[str, ...]] = {
    "check_in": ("the day of check-in", "the day of arrival"),
    "check_out": ("the day of check-out", "the last day of that stay"),
    "depart": ("the day of the flight",),
    "pick_up_date": ("the day of the pick-up",),
    "visit_day": ("the day of the visit",),
}
"""How a date said before is referred to by its part, where only one date plays it."""
_SELECTOR = re.compile(r"\[(?:\w+=)?@\w+\]")


@dataclass
class _Group:
    """A search with the pages of its items, or pages alone."""

    head: Step | None
    pages: list[Step] = field(default_factory=list[Step])

    @property
    def steps(self) -> list[Step]:
        return [*([self.head] if self.head else []), *self.pages]


def compose(chain: Chain, rng: random.Random, config: WriterConfig, style: str, tone: str) -> str:
    """Return a request for a chain, put together from its steps."""
    return _Composer(chain, rng, config, style, tone).request()


class _Composer:
    def __init__(self, chain: Chain, rng: random.Random, config: WriterConfig, style: str, tone: str) -> None:
        self._chain = chain
        self._pattern = chain.pattern
        self._rng = rng
        self._config = config
        self._style = style
        self._tone = tone
        self._said: set[str] = set()
        self._group: _Group | None = None

    def request(self) -> str:
        """Return the whole text."""
        sentences: list[str] = []
        for group in self._ordered(self._groups()):
            self._group = group
            want = self._want(group.head) if group.head else ""
            pages = _listed([self._block(*block) for block in self._blocks(group.pages)])
            form = "both" if want and pages else "want" if want else "pages"
            opening = "more" if sentences else "opening"
            sentences.append(self._expand(f"<{opening}.{form}>", _slots({"want": want, "pages": pages})))
        return tidy(" ".join([*sentences, self._expand("<closing>", _slots({}))]))

    def _groups(self) -> list[_Group]:
        """Return what is asked for: a search with its pages, pages of one looked-up thing, a search alone."""
        used = {name for step in self._pattern.steps for name in step.producers}
        groups: dict[str, _Group] = {}
        for step in self._pattern.steps:
            if step.speech.silent and step.name in used:
                continue
            owner = step.give.get(step.speech.of)
            if isinstance(owner, FromStep):
                producer = self._pattern.step(owner.step)
                groups.setdefault(producer.name, _Group(None)).pages.append(step)
            else:
                groups[step.name] = _Group(step)
        return list(groups.values())

    def _ordered(self, groups: list[_Group]) -> Iterator[_Group]:
        """Yield the groups in random order, each after those whose items it speaks of."""
        rest = self._rng.sample(groups, len(groups))
        while rest:
            names = {step.name for group in rest for step in group.steps}
            free = [g for g in rest if not (self._needs(g) & (names - {s.name for s in g.steps}))]
            chosen = (free or rest)[0]
            rest.remove(chosen)
            yield chosen

    def _needs(self, group: _Group) -> set[str]:
        """Return the names of all steps before a group that it takes values from, directly or not."""
        todo = [name for step in group.steps for name in step.producers]
        found: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self._pattern.step(name).producers
        return found

    def _want(self, step: Step) -> str:
        text = self._expand(step.speech.want, self._render(step))
        self._said |= step.variables
        return text

    def _blocks(self, pages: Sequence[Step]) -> list[tuple[list[str], list[Step]]]:
        """Return (wants, one page an item): items asked the same things are named together."""
        by_item: dict[tuple[str, str], list[Step]] = {}
        for page in pages:
            owner = page.give[page.speech.of]
            assert isinstance(owner, FromStep)
            by_item.setdefault((owner.step, owner.field), []).append(page)
        together: dict[tuple[tuple[str, tuple[str, ...]], ...], list[list[Step]]] = {}
        for same in by_item.values():
            asked = tuple((page.tool, tuple(sorted(page.variables))) for page in same)
            together.setdefault(asked, []).append(same)
        return [([self._want(page) for page in items[0]], [same[0] for same in items]) for items in together.values()]

    def _block(self, wants: list[str], pages: list[Step]) -> str:
        links = {page.speech.link for page in pages}
        link = links.pop() if len(links) == 1 and len(wants) == 1 else "of"
        self._rng.shuffle(wants)
        return f"{_listed(wants)} {link} {self._items(pages)}"

    def _items(self, pages: list[Step]) -> str:
        """Return what the items of pages are called; `the first three hotels` where they are that."""
        sources = [page.give[page.speech.of] for page in pages]
        picks = [self._chain.picks[s.pick] for s in sources if isinstance(s, FromStep) and s.pick is not None]
        numbers = sorted(COUNTED.index(Rule(pick)) for pick in picks if pick in COUNTED)
        first = sources[0]
        if 1 < len(pages) == len(numbers) and isinstance(first, FromStep):
            noun = self._pattern.step(first.step).speech.noun
            if numbers == list(range(len(numbers))) and self._rng.random() < 0.5:
                few = f"the {self._rng.choice(('first', 'top'))} {NUMBERS[len(numbers)]} {_plural(noun)}"
                return self._derived(first, few)
            return self._derived(first, f"{_listed([f'the {pick}' for pick in picks])} {noun}")
        return _listed([self._place(page, page.speech.of) for page in pages])

    def _derived(self, source: FromStep, item: str = "") -> str:
        """Return what a value out of an answer is called; `item` is the name of what was picked from its list."""
        producer = self._pattern.step(source.step)
        meaning = producer.speech.means.get(generic(_SELECTOR.sub("[0]", source.field)))
        if meaning is not None and (item or "{item}" not in meaning):
            return self._expand(meaning, self._render(producer, item))
        if item:
            return f"{item} {self._which(producer)}".strip()
        return self._place(producer, "query" if "query" in producer.give else producer.speech.of)

    def _item(self, source: FromStep) -> str:
        if source.pick is None:
            return ""
        speech, pick = self._pattern.step(source.step).speech, self._chain.picks[source.pick]
        if speech.silent:
            return pick_plainly(pick, speech.noun)
        return pick_in_words(pick, speech.noun or "entry", self._rng)

    def _which(self, producer: Step) -> str:
        """Return what tells a list from another of its noun; nothing where there is one, or it was just spoken of."""
        alike = [s for s in self._pattern.steps if s.speech.noun == producer.speech.noun]
        here = self._group is not None and self._group.head is producer
        return "" if len(alike) < 2 or here else self._expand(producer.speech.which, self._render(producer))

    def _place(self, step: Step, argument: str) -> str:
        """Return what a person calls the place or thing that an argument stands for."""
        source = step.give.get(argument)
        if isinstance(source, FromUser):
            value = self._chain.values.get(source.variable)
            if self._pattern.kinds[source.variable] is Kind.COORDINATE:
                return self._point(step, argument)
            return "" if value is None else str(value)
        return "" if source is None else self._derived(source, self._item(source))

    def _point(self, step: Step, argument: str) -> str:
        """Return a point the user gives himself; the latitude stands for both."""
        head = argument.removesuffix("latitude")
        parts = [
            self._chain.values.get(source.variable)
            for name in (f"{head}latitude", f"{head}longitude")
            if isinstance(source := step.give.get(name), FromUser)
        ]
        return f"latitude {parts[0]}, longitude {parts[1]}"

    def _at(self, step: Step, argument: str) -> str:
        """Return a place with its preposition: in a city, at (or near) anything else."""
        return f"{'in' if self._is_city(step, argument) else step.speech.near} {self._place(step, argument)}"

    def _is_city(self, step: Step, argument: str) -> bool:
        source = step.give.get(argument)
        if isinstance(source, FromUser):
            return self._pattern.kinds[source.variable] is Kind.PLACE
        if source is None:
            return False
        producer = self._pattern.step(source.step)
        if producer.speech.noun == "city" or source.field.endswith("cityName"):
            return True
        follow = source.pick is None and "query" in producer.give and not source.field.endswith("name")
        return follow and self._is_city(producer, "query")

    def _render(self, step: Step, item: str = "") -> Callable[[str, str], str]:
        """Return what fills the slots of a text about a step; `item` is what it picks from its list."""
        values = self._values(step)
        speaker = Speaker(values, KINDS, {}, self._rng, self._config, self._style)
        own: dict[str, Callable[[], str]] = {
            "item": lambda: item,
            "wish": lambda: self._named(step, "categories_filter", "with {}"),
            "review_order": lambda: self._named(step, "sort_option_id", "in the order “{}”"),
            "legs": lambda: self._legs(step),
            "car_trip": lambda: self._car_trip(step, speaker),
            "ride": lambda: f"on {speaker.say('pick_up_date', '')} at {speaker.say('pick_up_time', '')}",
            "stay": lambda: self._stay(step, speaker, again=True),
            "new_stay": lambda: self._stay(step, speaker, again=False),
        }

        def render(slot: str, noun: str) -> str:
            if slot in ("at", "place"):
                return self._at(step, noun) if slot == "at" else self._place(step, noun)
            return own[slot]() if slot in own else speaker.say(slot, noun)

        return render

    def _values(self, step: Step) -> dict[str, JsonValue]:
        """Return what the speaker says of a step: its arguments by their roles."""
        found: dict[str, JsonValue] = {}
        for argument, source in step.give.items():
            role = ROLES.get(argument)
            if role is None:
                continue
            if isinstance(source, FromStep):
                found[role] = Said(self._place(step, argument)) if KINDS[role] is Kind.DATE else None
            elif source.variable in self._chain.values:
                found[role] = self._again(role, source.variable)
        return {role: value for role, value in found.items() if value is not None}

    def _again(self, role: str, variable: str) -> JsonValue:
        """Return the value of a variable, or how a date said before is referred to."""
        value = self._chain.values[variable]
        if variable not in self._said or self._rng.random() >= self._config.indirection:
            return value
        first = next((r for r in CALLED if self._players(r) == {variable}), None)
        return value if first is None or first == role else Said(self._rng.choice(CALLED[first]))

    def _players(self, role: str) -> set[str]:
        """Return the variables that play a role in any step."""
        return {
            source.variable
            for _, argument, source in self._pattern.sources()
            if ROLES.get(argument) == role and isinstance(source, FromUser)
        }

    def _stay(self, step: Step, speaker: Speaker, *, again: bool) -> str:
        """Say a stay; one that was said already is referred to, or not said again at all."""
        sources = [step.give[a] for a in step.give if ROLES.get(a) in ("check_in", "check_out")]
        names = [source.variable for source in sources if isinstance(source, FromUser)]
        if len(names) < len(sources) or not set(names) <= self._said:
            return speaker.say("stay", "")
        one = self._players("check_in") | self._players("check_out") == set(names)
        return "" if not again else "for the same dates" if one else speaker.say("stay", "")

    def _named(self, step: Step, argument: str, form: str) -> str:
        source = step.give.get(argument)
        pick = source.pick if isinstance(source, FromStep) else None
        return form.format(self._chain.picks[pick]) if pick is not None else ""

    def _legs(self, step: Step) -> str:
        numbers = sorted({argument.split(".")[0] for argument in step.give if argument.startswith("legs[")})
        legs = [
            f"from {self._place(step, f'{leg}.fromId')} to {self._place(step, f'{leg}.toId')} on "
            + self._leg_day(step, f"{leg}.date")
            for leg in numbers
        ]
        return _listed(legs)

    def _leg_day(self, step: Step, argument: str) -> str:
        source = step.give[argument]
        if isinstance(source, FromStep):
            return self._place(step, argument)
        values = {"depart": self._chain.values[source.variable]}
        return Speaker(values, KINDS, {}, self._rng, self._config, self._style).say("depart", "")

    def _car_trip(self, step: Step, speaker: Speaker) -> str:
        """Say where a car is taken and given back, and when."""
        start, end = (self._at(step, f"{end}_latitude") for end in ("pick_up", "drop_off"))
        if step.give["pick_up_latitude"] == step.give["drop_off_latitude"]:
            return f"{start} {speaker.say('rental', '')}"
        first, last = (
            f"{speaker.say(f'{end}_date', '')} at {speaker.say(f'{end}_time', '')}" for end in ("pick_up", "drop_off")
        )
        form = self._rng.choice(("picked up {} on {} and returned {} on {}", "taken {} on {} and given back {} on {}"))
        return form.format(start, first, end, last)

    def _expand(self, text: str, render: Callable[[str, str], str]) -> str:
        return part(text, self._pattern.phrases, self._tone, self._rng, render)


def _slots(values: Mapping[str, str]) -> Callable[[str, str], str]:
    return lambda slot, _: values[slot]


def _listed(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeo" else f"{noun}s"
