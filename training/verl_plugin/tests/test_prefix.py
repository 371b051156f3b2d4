"""Sharing a prompt changes nothing but the cost: same hidden states, same gradients as row by row without padding."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from training.verl_plugin.prefix import Rows, hidden_states, shared_prompt  # noqa: E402


@pytest.fixture(params=["llama", "qwen3"])
def model(request):
    torch.manual_seed(0)
    sizes = dict(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, attn_implementation="sdpa",
    )
    if request.param == "llama":
        return transformers.LlamaModel(transformers.LlamaConfig(**sizes))
    return transformers.Qwen3Model(transformers.Qwen3Config(**sizes))


def rows_of(prompt_length, tails, prompt):
    torch.manual_seed(1)
    head = torch.randint(0, 64, (prompt_length,))
    sequences = [torch.cat([head, torch.randint(0, 64, (n,))]) for n in tails]
    wanted = []
    for s in sequences:
        mask = torch.zeros(len(s), dtype=torch.bool)
        mask[prompt_length - 1 : len(s) - 1] = torch.rand(len(s) - prompt_length) < 0.7
        mask[prompt_length - 1] = True
        wanted.append(mask)
    return Rows(sequences, wanted, prompt)


def one_by_one(model, rows):
    states = [model(input_ids=s[None], use_cache=False).last_hidden_state[0] for s in rows.sequences]
    return torch.cat([s[w] for s, w in zip(states, rows.wanted, strict=True)])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tails", [(5, 5), (1, 9, 4), (12, 3, 7, 2)])
def test_states_and_gradients_equal_separate_rows(model, tails, shared):
    rows = rows_of(11, tails, 11 if shared else 0)
    got, want = hidden_states(model, rows), one_by_one(model, rows)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    upstream = torch.randn_like(want)
    ours = torch.autograd.grad((got * upstream).sum(), list(model.parameters()), allow_unused=True)
    theirs = torch.autograd.grad((want * upstream).sum(), list(model.parameters()), allow_unused=True)
    for a, b in zip(ours, theirs, strict=True):
        if b is not None:
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_shared_prompt_is_found_only_where_all_rows_have_it():
    a, b = torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 9])
    assert shared_prompt([a, b], [3, 3]) == 3
    assert shared_prompt([a, b], [4, 4]) == 0
    assert shared_prompt([a, b], [3, 2]) == 0
    assert shared_prompt([a], [3]) == 0
