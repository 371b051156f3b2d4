"""How many tokens a conversation has as the model will read it: its own chat template, its own tokenizer.

Rows that don't fit are left out before training: verl looks at the bare messages only, not at the
tools beside them, and a prompt over the window ends a run. Neither torch nor transformers is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

Message = Mapping[str, Any]
"""One chat message, `role` and `content`."""
Count = Callable[[Sequence[Message], Sequence[Any], bool], int]
"""From messages, tools and whether an answer follows to a number of tokens."""


def token_count(model: Path) -> Callable[[str], int] | None:
    """Return how many tokens of the model a text has; None where the folder has no tokenizer.json."""
    file = model / "tokenizer.json"
    if not file.is_file():
        return None
    tokenizer = Tokenizer.from_file(str(file))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def conversation_length(model: Path) -> Count | None:
    """Return the length of conversations for a model folder; None where it has no tokenizer or no template."""
    count, text = token_count(model), chat_template(model)
    if count is None or text is None:
        return None
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _tojson
    environment.globals.update(raise_exception=_raise, strftime_now=_now)
    template, special = environment.from_string(text), _special(model)

    def length(messages: Sequence[Message], tools: Sequence[Any], answer_follows: bool) -> int:
        given = {"messages": messages, "tools": tools or None, "add_generation_prompt": answer_follows}
        return count(template.render(**special, **given))

    return length


def chat_template(model: Path) -> str | None:
    """Return the chat template of a model folder, from its own file or from the tokenizer's settings."""
    file = model / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    found = _tokenizer_config(model).get("chat_template")
    return found if isinstance(found, str) else None


def _tokenizer_config(model: Path) -> dict[str, Any]:
    file = model / "tokenizer_config.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _special(model: Path) -> dict[str, str]:
    config = _tokenizer_config(model)
    tokens = {name: config.get(name) for name in ("bos_token", "eos_token", "pad_token", "unk_token")}
    texts = {name: token.get("content") if isinstance(token, dict) else token for name, token in tokens.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _tojson(value: object, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().strftime(form)
