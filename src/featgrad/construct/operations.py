"""Operations: what may be constructed, all of it priced at once and only the best of it built."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featgrad._support.array_api import placed_like
from featgrad.construct.curves import Curve, Hinge, Lag, Power, RollingMean
from featgrad.construct.expressions import Constructed, Curved, Product
from featgrad.construct.prices import Parts, Residuals, best_pairs
from featgrad.plan import KNOTS


@dataclass(frozen=True)
class Operation:
    """Curves of given columns or, with `times`, products of these with all columns.

    Without a curve products are of any two columns. Columns are centred, unless they are "raw".
    """

    curve: Curve | None = None
    times: str = ""

    @property
    def is_ordered(self) -> bool:
        """Whether it sees rows before a row."""
        return self.curve is not None and self.curve.is_ordered

    def best(self, parts: Parts, residuals: Residuals, kept: int) -> tuple[int, list[Constructed]]:
        """How many columns it could construct, and about those of the highest prices."""
        if self.curve is None:
            return self._products(parts, residuals, kept)
        n, count, found = len(parts.expressions), 0, list[tuple[float, Constructed]]()
        others, origins = parts.values, parts.origins.tolist()
        if self.times == "raw":
            others, origins = parts.uncentred(), [0.0] * n
        elif not self.times:
            others = np.ones((len(residuals.rows), 1), np.float32)
        columns = parts.parents(KNOTS) if self.times else np.arange(n)
        for places, numbers, values in parts.curves(self.curve, columns):
            count += values.shape[1] * others.shape[1]
            for i, j, price in best_pairs(values, others, residuals, kept):
                curved = Curved(self.curve, parts.expressions[places[i]], float(numbers[i]))
                product = Product((curved, parts.expressions[j]), (0.0, origins[j]))
                found.append((price, product if self.times else curved))
        found.sort(key=lambda pair: -pair[0])
        return count, [column for _, column in found[:kept]]

    def _products(
        self, parts: Parts, residuals: Residuals, kept: int
    ) -> tuple[int, list[Constructed]]:
        n, parents, origins = len(parts.expressions), parts.parents(0.5), parts.origins.tolist()
        # Parents first: each pair has one of them.
        order = np.append(parents, np.setdiff1d(np.arange(n), parents))
        values = (
            parts.values if len(parents) == n else parts.values[:, placed_like(parts.values, order)]
        )
        found = list[Constructed]()
        for pair in best_pairs(values[:, : len(parents)], values, residuals, kept, are_same=True):
            i, j = sorted(order[list(pair[:2])].tolist())
            if i != j or not parts.is_binary[i]:
                both = parts.expressions[i], parts.expressions[j]
                found.append(Product(both, (origins[i], origins[j])))
        return len(parents) * n - len(parents) * (len(parents) - 1) // 2, found


OPERATIONS = {
    "products": Operation(),
    "hinges": Operation(Hinge()),
    "bent": Operation(Hinge(), times="columns"),
    "logs": Operation(Power("log")),
    "roots": Operation(Power("sqrt")),
    "ratios": Operation(Power("reciprocal"), times="raw"),
    "lags": Operation(Lag()),
    "rolling": Operation(RollingMean()),
}


def operations_named(given: "str | Operation | Sequence[str | Operation]") -> list[Operation]:
    """Those named, and those given as objects."""
    given = [given] if isinstance(given, str | Operation) else list(given)
    for one in given:
        if not isinstance(one, Operation) and one not in OPERATIONS:
            raise ValueError(
                f"operations contains {one!r}, which is unknown: use some of {list(OPERATIONS)}, "
                "or an operation as an object."
            )
    return [one if isinstance(one, Operation) else OPERATIONS[one] for one in given]
