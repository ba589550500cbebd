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

from featgrad._support.array_api import namespace

# What is left of a column that others explain is no less.
_LEAST = 1e-12


class Swaps:
    """Sets of equally many columns, each of which swaps one of its members at a time.

    Parameters
    ----------
    covariance, cross : array of shape (sets, columns, columns) and (sets, columns, outputs)
        ``C + ridge I``, and covariances with outputs; of NumPy or, on an accelerator, of torch.
    members : array of int of shape (sets, members)
        The sets.
    kept : array of bool of shape (sets, columns)
        Columns that stay in them.
    """

    def __init__(self, covariance: Any, cross: Any, members: Any, kept: Any) -> None:
        xp = self._xp = namespace(covariance)
        self._C, self._b, self.members = covariance, cross, members + 0
        self._sets = xp.arange(len(members), device=covariance.device)
        sets = self._sets[:, None]
        self._S = xp.permute_dims(covariance[sets, :, members], (0, 2, 1)) + 0.0
        self._target = cross[sets, members]
        self._H = xp.linalg.inv(self._S[sets, members])
        self._M, self._B = self._S @ self._H, self._H @ self._target
        self._left = cross - self._S @ self._B
        self._own = xp.linalg.diagonal(covariance) - (self._M * self._S).sum(2)
        # Numbers of the host may not be sent while operations are recorded.
        self._zero, self._infinity = self._own[0, 0] * 0, self._own[0, 0] * 0 + xp.inf
        # What bars members from coming in, and those that are kept from going out.
        self._barred = xp.zeros_like(self._own)
        self._barred[sets, members] = self._infinity
        self._stay = xp.where(kept[sets, members], self._infinity, self._zero)

    def begin(self, shares: Any, variances: Any, least: Any, most: Any) -> None:
        """Swap, step by step, while that brings more than the least and a share.

        The share is of what the set leaves of a variance. No more than the most swaps are made.
        """
        self._shares, self._variances, self._least = shares, variances, least
        self._wanted, self._count = most > 0, most + 0

    @property
    def wants_more(self) -> bool:
        return bool(self._wanted.any())

    def step(self) -> None:
        """Make the best swap of each set that still wants one."""
        gain, into, out = self.best()
        left = (self._variances - self.explained).clip(0.0)
        self._wanted &= (gain > self._shares * left + self._least) & (self._count > 0)
        self._count -= 1
        self.swap(into, out, self._wanted)

    @property
    def explained(self) -> Any:
        """Variance that each set explains."""
        return (self._B * self._target).sum((1, 2))

    def state(self) -> tuple[Any, Any, Any, Any]:
        """Members, what is lost without each, what each column would bring, and `explained`."""
        losses = (self._B**2).sum(2) / self._xp.linalg.diagonal(self._H)
        brought = (self._left**2).sum(2) / self._own.clip(_LEAST)
        return self.members, losses, brought, self.explained

    def best(self) -> tuple[Any, Any, Any]:
        """What the best swap of each set brings, the column that comes in, and the place."""
        inverse = 1 / self._xp.linalg.diagonal(self._H)
        own = self._M * self._M
        own *= inverse[:, None]
        own += (self._own + self._barred)[:, :, None]
        gains = None
        for c in range(self._B.shape[2]):
            brought = self._M * (self._B[:, :, c] * inverse)[:, None]
            brought += self._left[:, :, c, None]
            brought *= brought
            gains = brought if gains is None else gains + brought
        gains /= own.clip(_LEAST)
        gains -= ((self._B**2).sum(2) * inverse + self._stay)[:, None]
        flat = gains.reshape(len(gains), -1)
        place, size = flat.argmax(1), self.members.shape[1]
        return flat[self._sets, place], place // size, place % size

    def swap(self, into: Any, out: Any, wanted: Any) -> None:
        """In each set that wants it, let a column come in for the member at a place."""
        xp, sets = self._xp, self._sets
        # Without the member, h_j / H_jj, and M_:j, B_j and H_jj as they were.
        gone, along, coefficients = self._H[sets, out], self._M[sets, :, out], self._B[sets, out]
        inner = gone[sets, out][:, None]
        h = gone / inner
        # Of the column that comes in: w, what is left of it and what it explains.
        moved = along[sets, into][:, None]
        w = self._M[sets, into] - moved * h
        w[sets, out] = self._zero
        e = self._C[sets, into] - (self._S @ w[:, :, None])[:, :, 0]
        w[sets, out] = self._zero - 1
        own = self._own[sets, into][:, None] + moved**2 / inner
        left = self._left[sets, into] + moved * coefficients / inner
        # Sets that do not want to swap lose and gain nothing.
        both = xp.concat([along[:, :, None], e[:, :, None]], axis=2)
        columns = xp.where(wanted[:, None, None], both, self._zero)
        rows = xp.where(wanted[:, None, None], xp.stack([h, w / own], axis=1), self._zero)
        across = xp.permute_dims(rows, (0, 2, 1))
        self._M -= columns @ rows
        self._H -= across @ xp.stack([gone, -w], axis=1)
        self._B -= across @ xp.stack([coefficients, left], axis=1)
        self._left += columns @ xp.stack([coefficients / inner, -left / own], axis=1)
        squares = both * columns
        self._own += squares[:, :, 0] / inner - squares[:, :, 1] / own
        # The member that is there at last: the old one or the new one.
        before = self.members[sets, out]
        after = xp.where(wanted, into, before)
        self._S[sets, :, out], self._target[sets, out] = self._C[sets, after], self._b[sets, after]
        self._barred[sets, before] = self._zero
        self._barred[sets, after] = self._infinity
        self.members[sets, out] = after
