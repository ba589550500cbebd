"""What one fit is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featgrad.dataset.checks import MISSING, PREPROCESS, check_number, check_option
from featgrad.math.filters import check_order, up_to
from featgrad.math.links import LINKS, Link
from featgrad.math.targets import TASKS
from featgrad.search.asked import Asked
from featgrad.search.progress import OnStep


class Settings(NamedTuple):
    """The selector's parameters that say how to search, under their names there."""

    n_resamples: int
    order: int
    filter: str | ArrayLike
    penalty: float
    task: str
    link: str
    preprocess: str
    learning_rate: float
    max_iter: int
    tol: float
    batch_size: int | None
    accumulate: int
    n_epochs: int
    missing: str

    def check(self) -> None:
        """Refuse what no rows could make sense of."""
        check_option("link", self.link, ("auto", *LINKS))
        check_option("missing", self.missing, MISSING)
        for name in ("max_iter", "n_epochs", "accumulate"):
            check_number(name, getattr(self, name), Integral, at_least=1)
        if self.batch_size is not None:
            check_number("batch_size", self.batch_size, Integral, at_least=2)
        check_number("n_resamples", self.n_resamples, Integral, at_least=0)
        if self.n_resamples == 1:
            raise ValueError("n_resamples=1 has nothing to agree with: use 0, or at least 2.")
        for name in ("penalty", "tol"):
            check_number(name, getattr(self, name), Real, at_least=0)
        check_number("learning_rate", self.learning_rate, Real, above=0)

    def check_before_reading(self) -> None:
        """Refuse what is otherwise refused when it is used: a long reading must not end there."""
        check_option("preprocess", self.preprocess, PREPROCESS)
        check_option("task", self.task, TASKS)
        up_to(self.filter, check_order(self.order))

    def link_for(self, task: str) -> Link:
        if self.link != "auto":
            return LINKS[self.link]
        return LINKS["residual" if task == "regression" else "root"]


@dataclass(frozen=True)
class Request:
    """What to choose, how to search for it, who watches, and where chance comes from.

    Parameters
    ----------
    asked : Asked or None
        Units and budgets; None where the penalty decides the size.
    settings : Settings
        How to search.
    on_step : callable
        Told of each step.
    rng : RandomState
        The order of rows, and halves of them.
    """

    asked: Asked | None
    settings: Settings
    on_step: OnStep
    rng: np.random.RandomState
