"""What every search reports as it goes, and to whom."""

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.callback import CallbackContext


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


class Reporter:
    """Tells scikit-learn's callbacks and, with `verbose`, the terminal of each step."""

    def __init__(self, selector: Any, context: CallbackContext | None) -> None:
        self._selector, self._context, self._count = selector, context, 0

    def __call__(self, step: Step, scores: NDArray[Any]) -> bool:
        self._count += 1
        verbose = self._selector.verbose
        if verbose and self._count % verbose == 0:
            print(
                f"step {self._count}: objective {step.objective:.6f}, explained "
                f"{step.explained:.4f}, size {step.size:.1f}"
            )
        if self._context is None:
            return False
        inner = self._context.subcontext(task_name="step")
        inner.call_on_fit_task_begin(estimator=self._selector)
        return bool(inner.call_on_fit_task_end(estimator=self._selector))
