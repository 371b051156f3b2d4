"""`RunSettings`: which model is evaluated and how it is decoded, the same for every suite."""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from environment.core.errors import ConfigError, DataError
from evaluation.policy.chat import Sampling
from evaluation.serve import ServeSettings

Mode = Literal["raw", "native"]
LONGEST_CONTEXT, SHORTEST_CONTEXT = 32768, 4096
"""Tokens a model is served with: as it says, up to the first; the second where it says nothing."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The model under test. Either `model` or `base_url` with `model_name` must be given, or `gold`."""

    model: Path | None = None
    """A Hugging Face folder, served here; beside a `base_url` it only lends its tokenizer."""
    base_url: str | None = None
    model_name: str = "policy"
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key for `base_url`; the key itself is kept nowhere."""
    mode: Mode = "raw"
    gold: bool = False
    """Plays the suite's own gold turns instead of a model: a check of data and rules."""
    samples: int = 4
    """Sampled episodes an item, beside the greedy one."""
    temperature: float = 1.0
    top_p: float = 1.0
    max_turn_tokens: int = 256
    seed: int = 0
    concurrency: int = 32
    item_seconds: float | None = None
    """Longest an episode may take, whatever its own limits say; passing it is a failure of the infrastructure."""
    retry_tries: int = 6
    """Tries of one request in all."""
    serve: ServeSettings = field(default_factory=ServeSettings)
    serve_log: Path | None = None

    def __post_init__(self) -> None:
        if self.model is None and self.base_url is None and not self.gold:
            raise ConfigError("nothing to evaluate", where=self.where, fix="give a model folder or a base_url")
        for name, least in (("samples", 0), ("concurrency", 1), ("max_turn_tokens", 1), ("retry_tries", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{self.where}.{name}", got=getattr(self, name), expected=f"{least} or more")
        if self.base_url is not None:
            _check_address(self.base_url)
        if self.item_seconds is not None and self.item_seconds <= 0:
            raise ConfigError(f"{self.where}.item_seconds", got=self.item_seconds, expected="a number above 0")

    @property
    def where(self) -> str:
        """What errors call these settings."""
        return "evaluation"

    def sampling(self, item_id: str, sample: int) -> Sampling:
        """Return how sample `sample` of an item is decoded; each (item, sample) has its own seed."""
        digest = hashlib.sha256(f"{self.seed}\0{item_id}\0{sample}".encode("utf-8", "surrogatepass")).digest()
        seed = int.from_bytes(digest[:4], "big") >> 1
        if sample == 0:
            return Sampling(0.0, 1.0, self.max_turn_tokens, seed)
        return Sampling(self.temperature, self.top_p, self.max_turn_tokens, seed)

    def identity(self) -> str | None:
        """Return which model it is: a digest of the folder, else the host that serves it; no key is in it."""
        if self.gold:
            return "gold"
        return urlsplit(self.base_url or "").hostname if self.model is None else model_digest(self.model)

    def manifest(self) -> dict[str, Any]:
        """Return what of the model and its decoding decides the outcome, by content rather than by path."""
        return {
            "model": self.identity(),
            "model_name": self.model_name,
            "mode": self.mode,
            "samples": self.samples,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_turn_tokens": self.max_turn_tokens,
            "max_model_len": self.serve.max_model_len if self.base_url is None and not self.gold else None,
            "seed": self.seed,
        }


def _check_address(url: str) -> None:
    """Refuse an address that holds a secret, which would stand in messages and files."""
    parts = urlsplit(url)
    if parts.username is not None or parts.query:
        what = "the address holds more than a place, maybe a secret"
        raise ConfigError(what, where="base_url", fix="give the key in an environment variable, by api_key_env")


def context_length(folder: Path, most: int = LONGEST_CONTEXT) -> int:
    """Return the longest conversation, in tokens, that a model folder says it takes, `most` at most."""
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        expected = "a Hugging Face folder with config.json"
        raise DataError("no model folder", where=str(folder), expected=expected) from error
    stated = config.get("max_position_embeddings") if isinstance(config, dict) else None
    return min(stated, most) if isinstance(stated, int) and stated > 0 else SHORTEST_CONTEXT


def model_digest(folder: Path) -> str:
    """Return a digest of a model folder: all of each small file, size and samples of each large one.

    The chat template is a small file of the folder, so another template is another model.
    """
    digest = hashlib.sha256()
    if not folder.is_dir():
        raise DataError("no such model folder", where=str(folder), expected="a Hugging Face folder")
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= 64 << 20:
                digest.update(file.read())
                continue
            for part in range(64):
                file.seek(part * (size - 65536) // 63)
                digest.update(file.read(65536))
    return digest.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Return a digest of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise DataError(f"the file can't be read ({error.strerror or error})", where=str(path)) from error
