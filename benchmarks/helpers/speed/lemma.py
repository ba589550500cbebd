"""The paper's Lemma in plain torch: reverse cumulative sums and automatic differentiation."""

from __future__ import annotations

import torch


def explained(
    X: torch.Tensor, y: torch.Tensor, v: torch.Tensor, alpha: list[float]
) -> torch.Tensor:
    """``sum_i alpha_i y^T T^(i+1) y`` for centred, scaled rows and ``s = sigmoid(2 v)``."""
    masked = X * torch.sigmoid(2 * v)
    total = torch.zeros(())
    vector = y
    for a in alpha:
        products = X * vector[:, None]
        later = products.sum(0) - torch.cumsum(products, 0)
        vector = (masked * later).sum(1)
        total = total + a * (y @ vector)
    return total


def value_and_gradient(
    X: torch.Tensor, y: torch.Tensor, v: torch.Tensor, alpha: list[float]
) -> tuple[float, torch.Tensor]:
    v = v.detach().requires_grad_()
    value = explained(X, y, v, alpha)
    value.backward()
    return float(value.detach()), v.grad
