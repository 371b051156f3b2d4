"""The builder of incremental tokens: verl's choice, but Qwen's wherever turns end as in ChatML."""
from __future__ import annotations

from typing import Any

from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder


def token_builder(tokenizer: Any, chosen: Any, template_kwargs: Any) -> Any:
    """Return the builder for a tokenizer, given the one verl chose for its model type.

    verl knows ChatML's newline after a turn for Qwen's model types only.
    """
    if type(chosen).__name__ != "ContinuousTokenBuilder" or tokenizer.eos_token != "<|im_end|>":
        return chosen
    return create_continuous_token_builder(tokenizer, model_family="qwen", chat_template_kwargs=template_kwargs)


def builder_for(tokenizer: Any, model_type: str | None, template_kwargs: Any) -> Any:
    """Return the builder that a rollout of a model of this type uses."""
    chosen = create_continuous_token_builder(
        tokenizer, hf_model_type=model_type, chat_template_kwargs=template_kwargs
    )
    return token_builder(tokenizer, chosen, template_kwargs)
