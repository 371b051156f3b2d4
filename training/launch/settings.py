"""Our own keys, `tool_rl.*`, as pydantic models: unknown keys and wrong types are errors.

verl's keys keep verl's own types; `checks.py` looks at those of them that must agree with ours.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environment.core.errors import nearest_name
from training.advantages.settings import AdvantageSettings
from training.launch.problems import Problem

Count = Annotated[int, Field(ge=1)]
"""A whole number of at least one."""
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number of at least 0."""
Policy = Literal["base", "sft", "rl"]
"""A model the evaluation looks at: before training, after the warm start, after RL."""


class Section(BaseModel):
    """Base of every section: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class DataSettings(Section):
    """Rows of your own instead of synthesised ones (TRAIN_DATA_PATH, TEST_DATA_PATH)."""

    train: str | None = None
    """Records (.jsonl, .pkl) or a parquet that preprocess wrote; None synthesises."""
    heldout: str | None = None
    """The same for the held-out rows; must be None where `train` is None."""


class ModelSettings(Section):
    """The model before any training."""

    source: str
    """A built-in model's name, a Hugging Face folder, or a hub name (MODEL_PATH)."""
    parameters: Count
    """Number of weights, for the estimates of the plan only."""


class TaskSettings(Section):
    """What the model is asked to do."""

    name: str
    world: str
    instructions: str | None = None
    """System prompt; None takes the task's own."""
    schemas: str | None = None
    """Tool schema file; None takes the world's own."""


class WorldSettings(Section):
    """Where answers come from: `seed` simulates, `import` takes your records' responses, `file`, `http` say where."""

    kind: Literal["seed", "import", "file", "http"] = "seed"
    path: str | None = None
    """A recorded world, for kind `file`."""
    url: str | None = None
    """Address of a `tool-rl serve`, for kind `http`; its token stands in TOOL_RL_SERVE_TOKEN, on every machine."""
    seed: int = 7
    size: dict[str, Count | None] = {}
    """How much there is in the simulated world; None keeps the simulator's own number."""


class MixSettings(Section):
    """Which share of the rows each kind of task gets."""

    steps: dict[int, float] | None = None
    """Number of calls to share; None takes the default shares."""
    patterns: dict[str, float] | None = None
    """Pattern to weight among those of its length; 0 leaves it out, None takes the templates' own weights."""
    widths: dict[int, float] | None = None
    """Most calls that may run in parallel to factor; None counts all alike."""
    domains: dict[str, float] | None = None
    """Family (hotel, flight, ...) to factor; a family that isn't named gets nothing, None counts all alike."""


class WriterSettings(Section):
    """How hard the wording of the queries is to read."""

    iso_share: Weight = 0.5
    """Share of the queries that write dates as YYYY-MM-DD; the rest uses words."""
    words_share: Weight = 0.5
    """Share of the numbers said in words."""
    nights_share: Weight = 0.15
    """Share of the stays given as so many nights."""
    indirection: Weight = 0.3
    """Share of the dates said before that are only referred to, in long requests."""


class LlmSettings(Section):
    """A model that words the queries of the synthesised rows (`tool-rl synth --writer llm`)."""

    model: str | None = None
    """Name the endpoint serves it under; None leaves the offline wording."""
    base_url: str = "http://127.0.0.1:8000/v1"
    key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    concurrency: Count = 16
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.8
    max_tokens: Count | None = None
    """Cap on all prompt and completion tokens; None for no cap."""


class SynthSettings(Section):
    """How many rows are synthesised."""

    train: Count = 256
    heldout: Count = 96
    seed: int = 1
    templates: str = "default"
    """`default`, `all` for the long call patterns besides, or the path of templates of your own."""
    distractors: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] = (1, 2)
    """Fewest and most tools on offer beyond those of the chain."""
    distractors_by: Literal["family", "similar", "random"] = "family"
    """From the families of the chain, the most alike, or any."""
    mix: MixSettings = MixSettings()
    writer: WriterSettings = WriterSettings()
    llm: LlmSettings = LlmSettings()


class PreprocessSettings(Section):
    """Rows to parquet."""

    max_tools: Count | None = None
    """Tools shown per row at most; None shows those the row names."""


class SftSettings(Section):
    """The supervised warm start."""

    enabled: bool = True
    steps: Count
    batch_size: Count
    micro_batch_size: Count
    learning_rate: Annotated[float, Field(gt=0, lt=1)]
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    max_length: Count
    save_freq: Annotated[int, Field(ge=1)] = 10
    train_layers: Annotated[int, Field(ge=0)] = 0
    """CPU engine only: train the last so many decoder layers, 0 all weights."""
    seed: int = 1


class LimitSettings(Section):
    """Limits of one episode; the same in training and evaluation."""

    max_turns: Count
    max_calls: Count
    turn_tokens: Count | None = None
    """Of one assistant turn; None leaves it to `max_tokens`."""
    max_tokens: Count
    max_seconds: Annotated[float, Field(gt=0)]
    max_invalid: Count
    parallel_calls: Count
    observation_tokens: Count


class ActorSettings(Section):
    """What of a step's rollouts and of the model an RL update touches."""

    keep_per_group: Annotated[int, Field(ge=2)] | None = None
    """Rollouts of each prompt that are trained on, the ones whose rewards differ most; None trains on all."""
    train_layers: Annotated[int, Field(ge=0)] = 0
    """Decoder layers, counted from the last, that are trained (CPU engine only); 0 trains every weight."""


class RolloutSettings(Section):
    """How episodes are played, beyond their limits."""

    retries: Annotated[int, Field(ge=0, le=10)] = 1
    """Times a rollout is played again that the infrastructure failed; then it is void, neither scored nor counted."""
    probe: bool = True
    """Before anything starts, try the chat template on the first row (`training/rollout/probe.py`)."""


class RewardSettings(Section):
    """Which reward: ours, or a published one for comparison."""

    kind: Literal["graduated", "legacy", "binary", "toolrl"]
    weights: dict[str, Weight]
    """Names as the YAML of the group lists them; their meaning stands beside the reward."""


class EvaluateSettings(Section):
    """The before/after comparison on held-out rows."""

    rows: Count = 64
    samples: Annotated[int, Field(ge=1, le=64)] = 4
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    """Of the sampled attempts; greedy runs besides."""
    concurrency: Count = 32
    policies: tuple[Policy, ...] = ("base", "sft", "rl")
    seed: int = 1234


class LoggingSettings(Section):
    """Where curves go besides the console and metrics.jsonl."""

    wandb: bool = False
    tensorboard: bool = True


class ToolRl(Section):
    """Everything under `tool_rl`."""

    profile: str
    device: Literal["cpu", "cuda"]
    seed: int
    run_root: str
    run_dir: str
    start_model: str
    """Folder RL starts from: RUN/sft/hf, or RUN/model where the warm start is off."""
    budget_minutes: Annotated[float, Field(gt=0)] | None = None
    data: DataSettings
    model: ModelSettings
    task: TaskSettings
    world: WorldSettings
    synth: SynthSettings
    preprocess: PreprocessSettings
    records: dict[str, Any] = {}
    """Other settings, as a tree from the root, that apply where `data.train` is set and the user did not set them:
    rows of your own ask for longer windows than synthesised ones."""
    sft: SftSettings
    limits: LimitSettings
    actor: ActorSettings = ActorSettings()
    rollout: RolloutSettings = RolloutSettings()
    advantage: AdvantageSettings = AdvantageSettings()
    reward: RewardSettings
    evaluate: EvaluateSettings
    logging: LoggingSettings


def read_settings(values: object) -> tuple[ToolRl | None, list[Problem]]:
    """Return the settings, or None and every problem pydantic found."""
    try:
        return ToolRl.model_validate(values), []
    except ValidationError as error:
        return None, [_problem(entry["loc"], entry["type"], entry["msg"], entry["input"]) for entry in error.errors()]


def _problem(loc: tuple[int | str, ...], kind: str, message: str, got: object) -> Problem:
    key = ".".join(["tool_rl", *map(str, loc)])
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", message)
        return Problem(key, f"is {got!r}", f"one of {', '.join(known)}", nearest_name(str(got), known))
    if kind != "extra_forbidden":
        return Problem(key, f"is {got!r}", expected=message[:1].lower() + message[1:])
    near = nearest_name(str(loc[-1]), _fields_at(loc[:-1]))
    return Problem(key, "no such key", nearest=near and ".".join(["tool_rl", *map(str, loc[:-1]), near]))


def _fields_at(loc: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = ToolRl
    for part in loc:
        annotation = model.model_fields[str(part)].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
