"""What every search reports as it goes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from featgrad.arrays import Floats


class Step(NamedTuple):
    """One step: what was minimised, the explained fraction, and the mask summed over features."""

    objective: float
    explained: float
    size: float


# Told of each step and of the scores reached; answers whether to stop.
OnStep = Callable[[Step, NDArray[Any]], bool]


def go_on(step: Step, scores: NDArray[Any]) -> bool:
    """For searches that nobody watches."""
    return False


@dataclass
class Found:
    """Outcome of a search: features with positive scores are chosen."""

    scores: Floats
    steps: list[Step] = field(default_factory=list)
