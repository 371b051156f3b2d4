"""The chunked projection equals the plain one, in values, entropy and gradients."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from training.verl_plugin import selected  # noqa: E402
from training.verl_plugin.selected import selected_log_probs  # noqa: E402


def plain(hidden, weight, labels, temperature):
    logits = (hidden @ weight.T) / temperature
    return torch.log_softmax(logits, -1).gather(1, labels[:, None]).squeeze(1)


@pytest.mark.parametrize("positions", [1, 7, 40])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_values_and_gradients_equal_the_plain_way(positions, temperature, monkeypatch):
    monkeypatch.setattr(selected, "CHUNK", 16)
    torch.manual_seed(positions)
    hidden = torch.randn(positions, 12, requires_grad=True)
    weight = torch.randn(50, 12, requires_grad=True)
    labels = torch.randint(0, 50, (positions,))
    upstream = torch.randn(positions)

    got, _ = selected_log_probs(hidden, weight, labels, temperature)
    got_grads = torch.autograd.grad((got * upstream).sum(), (hidden, weight))
    want = plain(hidden, weight, labels, temperature)
    want_grads = torch.autograd.grad((want * upstream).sum(), (hidden, weight))

    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(got_grads, want_grads, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_entropy_of_known_distributions():
    weight = torch.eye(4)
    flat, sharp = torch.zeros(1, 4), torch.tensor([[200.0, 0, 0, 0]])
    _, entropy = selected_log_probs(torch.cat([flat, sharp]), weight, torch.tensor([0, 0]), with_entropy=True)
    assert entropy[0].item() == pytest.approx(1.3862944, abs=1e-5)
    assert entropy[1].item() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("both", [True, False])
def test_gradients_through_the_entropy_equal_the_plain_way(both, monkeypatch):
    monkeypatch.setattr(selected, "CHUNK", 16)
    torch.manual_seed(3)
    hidden = torch.randn(40, 12, requires_grad=True)
    weight = torch.randn(50, 12, requires_grad=True)
    labels = torch.randint(0, 50, (40,))
    of_log_probs, of_entropy = torch.randn(40) * both, torch.randn(40)

    got, entropy = selected_log_probs(hidden, weight, labels, 0.7, with_entropy=True)
    loss = (entropy * of_entropy).sum() + ((got * of_log_probs).sum() if both else 0)
    got_grads = torch.autograd.grad(loss, (hidden, weight))
    spread = torch.distributions.Categorical(logits=(hidden @ weight.T) / 0.7)
    want = (spread.entropy() * of_entropy).sum() + (plain(hidden, weight, labels, 0.7) * of_log_probs).sum()
    want_grads = torch.autograd.grad(want, (hidden, weight))

    torch.testing.assert_close(entropy, spread.entropy(), rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(got_grads, want_grads, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_no_position_gives_empty_tensors_and_a_gradient():
    hidden = torch.zeros(0, 4, requires_grad=True)
    log_probs, entropy = selected_log_probs(hidden, torch.eye(4, requires_grad=True), torch.zeros(0, dtype=torch.long))
    assert log_probs.shape == entropy.shape == (0,)
    log_probs.sum().backward()
    assert hidden.grad is not None
