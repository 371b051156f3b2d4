"""Packing changes nothing but the cost: same hidden states, same gradients as row by row without padding."""
from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from environment.core.errors import ConfigError  # noqa: E402
from training.verl_plugin.packing import hidden_states, pack, use_packed_attention  # noqa: E402

SIZES = dict(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, head_dim=8,
)  # fmt: skip


@pytest.fixture(params=["llama", "qwen3"])
def models(request):
    """A plain model and one that attends by segments, with the same weights."""
    torch.manual_seed(0)
    llama = request.param == "llama"
    kind = transformers.LlamaModel if llama else transformers.Qwen3Model
    config = (transformers.LlamaConfig if llama else transformers.Qwen3Config)(**SIZES)
    plain, ours = kind(config), kind(copy.deepcopy(config))
    ours.load_state_dict(plain.state_dict())
    use_packed_attention(ours)
    return plain, ours


def rows_of(groups):
    """Return sequences and prompt lengths of [(prompt length, tail lengths)]."""
    torch.manual_seed(1)
    sequences, prompts = [], []
    for prompt, tails in groups:
        head = torch.randint(0, 64, (prompt,))
        sequences += [torch.cat([head, torch.randint(0, 64, (n,))]) for n in tails]
        prompts += [prompt] * len(tails)
    return sequences, prompts


def gradients(states, upstream, model):
    return torch.autograd.grad((states * upstream).sum(), list(model.parameters()), allow_unused=True)


@pytest.mark.parametrize("groups", [[(11, (5, 5))], [(11, (1, 9, 4)), (3, (2, 8))], [(0, (12, 3, 7, 2))], [(6, (4,))]])
def test_states_and_gradients_equal_separate_rows(models, groups):
    plain, ours = models
    sequences, prompts = rows_of(groups)
    packed = pack(sequences, prompts)
    states = hidden_states(ours, packed)
    got = torch.cat([states[row] for row in packed.rows])
    want = torch.cat([plain(input_ids=s[None], use_cache=False).last_hidden_state[0] for s in sequences])
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    upstream = torch.randn_like(want)
    for g, w in zip(gradients(got, upstream, ours), gradients(want, upstream, plain), strict=True):
        torch.testing.assert_close(g, w, rtol=1e-3, atol=1e-4)


def test_a_shared_prompt_is_laid_once_and_every_row_finds_its_tokens():
    sequences, prompts = rows_of([(11, (1, 9, 4)), (5, (2,)), (0, (3, 4))])
    packed = pack(sequences, prompts)
    assert packed.input_ids.shape[1] == 11 + 1 + 9 + 4 + 5 + 2 + 3 + 4
    for sequence, row in zip(sequences, packed.rows, strict=True):
        assert torch.equal(packed.input_ids[0, row], sequence)
        assert torch.equal(packed.position_ids[0, row], torch.arange(len(sequence)))


def test_equal_rows_without_a_prompt_stay_apart():
    row = torch.tensor([1, 2, 3])
    packed = pack([row, row], [0, 0])
    assert packed.input_ids.shape[1] == 6 and len(packed.segments) == 2


def test_a_model_with_a_sliding_window_is_refused():
    sizes = {**SIZES, "sliding_window": 4}
    model = transformers.MistralModel(transformers.MistralConfig(**sizes))
    use_packed_attention(model)
    with pytest.raises(ConfigError, match="sliding_window"):
        hidden_states(model, pack([torch.arange(9)], [0]))


def test_a_rollout_that_is_all_prompt_has_no_tail():
    head = torch.tensor([4, 5, 6])
    packed = pack([head, torch.cat([head, head])], [3, 3])
    assert [len(s.tails) for s in packed.segments] == [1]
    assert torch.equal(packed.input_ids[0, packed.rows[0]], head)
