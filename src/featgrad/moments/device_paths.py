"""Paths through rising parts of the rows, folds or blocks, on an accelerator.

With vectors of one degree known for all parts, their sums over the parts before and behind give
those of the next degree by one batched product for both directions:

    r_0 = b_f,    r_(j+1)(f) = C_f S sum of r_j over the parts before (or behind) f.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from featgrad.moments.device_arrays import Tensor


class Paths(NamedTuple):
    """Paths of each length, each of shape (.., order, parts, outputs, columns)."""

    vectors: Tensor  # of paths from the first part on that end in each
    behind: Tensor  # of paths from the last part on, summed over the parts behind each

    def moments_and_gradient(self, strength: Tensor, counts: Tensor) -> Tensor:
        """Raw moments, then ``d/d strength`` of their sum weighted by alpha, in one vector.

        ``counts[a, b]`` is ``alpha[a + b]``: what a pair of path lengths counts.
        """
        first = strength[..., None, None, :] * self.vectors[..., 0, :, :, :]
        behind = self.behind.flatten(-3)
        moments = (behind @ first.flatten(-3)[..., None])[..., 0]
        # Pairs of a part and the ones behind it: left vectors meet the sums of right ones.
        mixed = (counts @ behind).reshape(self.vectors.shape)
        return torch.cat([moments, (self.vectors * mixed).sum((-4, -3, -2))], dim=-1)


def all_paths(
    first: Tensor, is_before: Tensor, strength: Tensor, order: int, product: Callable[[Tensor], Any]
) -> Paths:
    """Paths of as many lengths as the order, through parts of one problem or of many.

    `first` are the b_f, shape (.., parts, outputs, columns); `is_before` is 1 where the part of the
    column comes before that of the row; `strength` is the diagonal of S, shape (.., columns);
    `product` multiplies C_f of each part with vectors of its own, shape (.., parts, vectors,
    columns).
    """
    both_ways = torch.stack([is_before, is_before.mT])
    ends = torch.stack([first, first])
    strength = strength[..., None, None, :]
    vectors, behind = [], []
    for degree in range(order):
        sums = (both_ways @ ends.flatten(-2)).reshape(ends.shape)
        vectors.append(ends[0])
        behind.append(sums[1])
        if degree + 1 < order:
            masked = (sums * strength).movedim(0, -3)
            found = product(masked.flatten(-3, -2)).reshape(masked.shape)
            ends = found.movedim(-3, 0).contiguous()
    return Paths(torch.stack(vectors, dim=-4), torch.stack(behind, dim=-4))
