# pyright: basic
"""Token entropies: right on a model whose entropy is known, at the right tokens, from as few rows as can be."""
from __future__ import annotations

import importlib.util
import math
from typing import Any

import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu

from training.advantages.settings import EgpoSettings
from training.verl_plugin import columns, entropy
from training.verl_plugin.engine import CpuFSDPEngine
from training.verl_plugin.selected import selected_log_probs
from training.verl_plugin.tests.queue import Queue, put_batch

WORDS = 16
"""The toy model: after token k (below 5) the next is uniform over the first 2^k tokens, so the entropy is k ln 2."""


def toy_weights():
    after = torch.full((WORDS, WORDS), -1e9)
    for k in range(5):
        after[: 2**k, k] = 0.0
    return after


def engine() -> Any:
    made: Any = object.__new__(CpuFSDPEngine)
    made.get_data_parallel_group = lambda: None

    def model(packed, places, labels, temperature, with_entropy):
        hidden = torch.nn.functional.one_hot(packed.input_ids[0], WORDS).float()
        return selected_log_probs(hidden[places], toy_weights(), labels, temperature, with_entropy)

    made.module = model
    return made


def nested(rows):
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def micro_batch(prompts, responses, masks):
    whole = [p + r for p, r in zip(prompts, responses, strict=True)]
    rows = {"input_ids": whole, "prompts": prompts, "responses": responses, "loss_mask": masks}
    data = TensorDict({name: nested(column) for name, column in rows.items()}, batch_size=len(whole))
    tu.assign_non_tensor(data, calculate_entropy=True, temperature=1.0)
    return data


@pytest.fixture
def queue(monkeypatch):
    made = Queue()
    monkeypatch.setattr(columns, "tq", made)
    return made


def test_the_metric_is_right_on_a_model_of_known_entropy(queue):
    """Two rollouts of one prompt, through the engine's packed pass and verl's cut to the response, token by token."""
    prompts, responses = [[7, 3], [7, 3]], [[2, 4, 1, 0], [1, 0]]
    masks = [[1, 1, 0, 1], [1, 1]]
    _, output = engine().forward_step(micro_batch(prompts, responses, masks), None, forward_only=True)
    batch, _ = put_batch(queue, [{"group": "a", "score": 0.0}] * 2)
    for row, key in enumerate(batch.keys):
        queue.rows[key] |= {"responses": torch.tensor(responses[row]), "response_mask": torch.tensor(masks[row])}

    def infer(part):
        for row, key in enumerate(part.keys):
            queue.rows[key]["entropy"] = output["model_output"]["entropy"].unbind(0)[row]

    got = entropy.entropies(batch, [0, 1], infer)
    bits = [[value / math.log(2) for value in row.tolist()] for row in got]
    # The token before each written one says its entropy; where the world wrote, nothing was computed.
    assert bits[0] == pytest.approx([3, 2, 0, 1], abs=1e-5)
    assert bits[1] == pytest.approx([3, 1], abs=1e-5)


def test_entropies_of_the_queue_are_taken_without_a_pass(queue):
    batch, _ = put_batch(queue, [{"group": "a", "score": 0.0}] * 2)
    for key in batch.keys:
        queue.rows[key]["entropy"] = torch.arange(5).float()
    assert [row.tolist() for row in entropy.entropies(batch, [1], None)] == [[0, 1, 2, 3, 4]]


class Letters:
    """Token n is the n-th text."""

    def __init__(self, *pieces):
        self.pieces = pieces

    def decode(self, ids):
        return "".join(self.pieces[i] for i in ids)


PIECES = ("?", "p", "<think>\n", "<think>", "so", "</think>", "hi", "<|im_end|>")


def scoped(queue, response, spans, prompt=(1, 1), **config):
    batch, extra = put_batch(queue, [{"group": "a", "score": 0.0}])
    row = queue.rows[batch.keys[0]]
    row |= {"responses": torch.tensor(response), "prompts": torch.tensor(prompt)}
    row["response_mask"] = torch.ones(len(response), dtype=torch.int64)
    extra[0]["facts"]["spans"] = spans
    live = torch.tensor([True])
    return entropy.scope_masks(batch, extra, live, Letters(*PIECES), EgpoSettings(**config))[0].tolist()


def test_scope_is_pooled_over_turns_and_ends_with_them(queue):
    response = [3, 4, 5, 6, 7, 1, 1, 3, 4, 4, 5, 7]
    mask = scoped(queue, response, [[0, 5], [7, 12]])
    assert [i for i, here in enumerate(mask) if here] == [1, 8, 9]
    unclosed = scoped(queue, [3, 4, 4, 7, 1, 5, 6], [[0, 4], [5, 7]])
    assert not any(unclosed), "a chain of thought does not reach over its turn"


def test_a_prompt_that_opens_the_thoughts_counts(queue):
    assert scoped(queue, [4, 5, 6], [[0, 3]], prompt=(1, 2)) == [True, False, False]
    assert scoped(queue, [4, 5, 6], [[0, 3]], prompt=(2, 1)) == [False, False, False]
    assert scoped(queue, [4, 6], [[0, 2]], scope="assistant") == [True, True]


def test_only_rows_in_scope_go_through_the_pass_filled_up_to_the_ranks(queue):
    batch, _ = put_batch(queue, [{"group": "a", "score": 0.0}] * 5)
    scope = [torch.tensor([row in (1, 3, 4)] + [False] * 4) for row in range(5)]
    passed = []

    def infer(part):
        passed.append(part.keys)
        for key in part.keys:
            queue.rows[key]["entropy"] = torch.ones(7)

    values, mask = entropy.entropy_and_scope(batch, scope, infer, 1)
    assert passed == [[batch.keys[i] for i in (1, 3, 4)]]
    assert values.shape == mask.shape == (5, 5)
    assert values.sum(1).tolist() == [0, 5, 0, 5, 5]
    passed.clear()
    entropy.entropy_and_scope(batch, scope, infer, 2)
    assert len(passed[0]) == 4 and set(passed[0]) > {batch.keys[i] for i in (1, 3, 4)}
    passed.clear()
    entropy.entropy_and_scope(batch, [torch.zeros(5, dtype=torch.bool)] * 5, infer, 2)
    assert passed == [], "no row in scope, no pass"
