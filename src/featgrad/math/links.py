"""Links: from the explained fraction of the target's variance to the loss that is minimised.

Each link maps the explained fraction (of the total variance) to a loss and its derivative.
"""

import math
from collections.abc import Callable

Link = Callable[[float], tuple[float, float]]

# A link with a square root has no derivative at 0 and 1; estimates outside are clipped this far.
_MARGIN = 1e-6


def residual(explained: float) -> tuple[float, float]:
    """``1 - z / var(y)``: the unexplained share of the variance."""
    return 1.0 - explained, -1.0


def root(explained: float) -> tuple[float, float]:
    """``(1 - sqrt(z)) / 2``: the link of the paper's authors for labels -1 and 1."""
    inside = _clip(explained)
    return (1.0 - math.sqrt(inside)) / 2, -0.25 / math.sqrt(inside)


def probit(explained: float) -> tuple[float, float]:
    """``arccos(rho) / pi``: error rate of the best linear rule under a balanced probit model.

    For labels -1 and 1 that are the sign of a Gaussian whose correlation with the linear
    predictor is rho, ``z = 2 rho^2 / pi``.
    """
    inside = _clip(math.pi * explained / 2)
    rho = math.sqrt(inside)
    slope = -1.0 / (math.pi * math.sqrt(1 - inside)) * math.pi / (4 * rho)
    return math.acos(rho) / math.pi, slope


def _clip(value: float) -> float:
    return min(max(value, _MARGIN), 1 - _MARGIN)


LINKS: dict[str, Link] = {"residual": residual, "root": root, "probit": probit}
