"""Least squares on a set of columns, and what it brings to swap one of them for another.

For a set A let ``H = (C_AA + ridge I)^-1``, ``B = H b_A`` and ``M = C_:A H``; column m leaves
``l_m = b_m - C_mA B`` of the target and ``o_m = C_mm - M_m C_Am`` of itself unexplained. With j out
of A these become ``l_m + M_mj B_j / H_jj`` and ``o_m + M_mj^2 / H_jj``, and m explains
``l_m^2 / o_m`` beyond the rest; j itself explains ``B_j^2 / H_jj``. All pairs come out at once.

After a swap everything follows by corrections of rank two. Without j, H loses
``h_j h_j^T / H_jj`` and M ``M_:j h_j^T / H_jj``. With m in its place let ``w = H C_Am``, and -1 at
the place of m, and ``e_d = C_dm - M_d C_Am``: H gains ``w w^T / o_m``, M loses ``e w^T / o_m``, B
loses ``w l_m / o_m``, and the others ``e l_m / o_m`` and ``e^2 / o_m``.
"""

from typing import Any

import numpy as np

from featgrad.arrays import Flags, Indices
from featgrad.moments.array_api import beside, namespace

# What is left of a column that others explain is no less.
_LEAST = 1e-12


class Swaps:
    """A set of columns whose members are swapped one by one.

    Parameters
    ----------
    covariance : array of shape (columns, columns)
        ``C + ridge I``, of NumPy or, on an accelerator, of torch.
    cross : array of shape (columns, outputs)
        Covariance with the outputs, of the same library.
    members : ndarray of int
        The set.
    kept : ndarray of bool
        Columns that stay in it.
    """

    def __init__(self, covariance: Any, cross: Any, members: Indices, kept: Flags) -> None:
        self.members = members.copy()
        self._C, self._b = covariance, cross
        self._S, self._target = covariance[:, members], cross[members]
        inner = covariance[members[:, None], members]
        self._H = namespace(inner).linalg.inv(inner)
        self._M, self._B = self._S @ self._H, self._H @ self._target
        self._left = cross - self._S @ self._B
        self._own = covariance.diagonal() - (self._M * self._S).sum(1)
        # What bars members from coming in, and those that are kept from going out.
        self._barred = beside(cross, np.zeros(len(cross)))
        self._barred[members] = np.inf
        self._stay = beside(cross, np.where(kept[members], np.inf, 0.0))

    @property
    def explained(self) -> float:
        """Variance that the set explains."""
        return float((self._B * self._target).sum())

    def best(self) -> tuple[float, int, int]:
        """What the best swap brings, the column that comes in, and the place that it takes."""
        inverse = 1 / self._H.diagonal()
        own = self._M * self._M
        own *= inverse
        own += (self._own + self._barred)[:, None]
        gains = None
        for left, coefficients in zip(self._left.T, self._B.T, strict=True):
            brought = self._M * (coefficients * inverse)
            brought += left[:, None]
            brought *= brought
            gains = brought if gains is None else gains + brought
        gains /= own.clip(_LEAST)
        gains -= (self._B**2).sum(1) * inverse + self._stay
        flat = gains.reshape(-1)
        place = int(flat.argmax())
        into, out = divmod(place, len(self.members))
        return float(flat[place]), into, out

    def swap(self, into: int, out: int) -> None:
        """Let a column come in for the member at a place."""
        # Without the member, h_j / H_jj, and M_:j, B_j and H_jj as they were.
        gone, along, coefficients = self._H[out] + 0.0, self._M[:, out] + 0.0, self._B[out] + 0.0
        inner = gone[out] + 0.0
        h = gone / inner
        # Of the column that comes in: w, what is left of it and what it explains.
        w = self._M[into] - along[into] * h
        w[out] = 0.0
        e = self._C[:, into] - self._S @ w
        w[out] = -1.0
        own = self._own[into] + along[into] ** 2 / inner
        left = self._left[into] + along[into] * coefficients / inner
        stack = namespace(self._M).stack
        columns, rows = stack([along, e], axis=1), stack([h, w / own])
        self._M -= columns @ rows
        self._H -= rows.T @ stack([gone, -w])
        self._B -= rows.T @ stack([coefficients, left])
        self._left += columns @ stack([coefficients / inner, -left / own])
        self._own += along**2 / inner - e**2 / own
        self._S[:, out], self._target[out] = self._C[:, into], self._b[into]
        self._barred[int(self.members[out])], self._barred[into] = 0.0, np.inf
        self.members[out] = into
