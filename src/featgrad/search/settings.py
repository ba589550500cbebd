"""The selector's parameters that say how to search."""

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from featgrad.checks import MISSING, PREPROCESS, check_number, check_option
from featgrad.math.filters import check_order, up_to
from featgrad.math.links import LINKS, Link
from featgrad.options import TASKS
from featgrad.plan import SEARCHES, USED_BY


class Settings(NamedTuple):
    """Parameters under their names in the selector."""

    fdr: float | None
    search: str
    n_resamples: int
    estimate: bool
    cv: Any
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
    device: str | None

    @classmethod
    def of(cls, selector: Any) -> Self:
        return cls(*(getattr(selector, name) for name in cls._fields))

    def check(self) -> None:
        """Refuse what no rows could make sense of."""
        check_option("search", self.search, SEARCHES)
        check_option("link", self.link, ("auto", *LINKS))
        check_option("missing", self.missing, MISSING)
        check_option("preprocess", self.preprocess, PREPROCESS)
        check_option("task", self.task, TASKS)
        up_to(self.filter, check_order(self.order))
        for name in ("max_iter", "n_epochs", "accumulate"):
            check_number(name, getattr(self, name), Integral, at_least=1)
        if self.batch_size is not None:
            check_number("batch_size", self.batch_size, Integral, at_least=2)
        check_number("n_resamples", self.n_resamples, Integral, at_least=0)
        if self.n_resamples % 2:
            raise ValueError(
                f"n_resamples={self.n_resamples} cannot be used: halves come in complementary "
                "pairs, give an even number."
            )
        for name in ("penalty", "tol"):
            check_number(name, getattr(self, name), Real, at_least=0)
        check_number("learning_rate", self.learning_rate, Real, above=0)
        if self.fdr is not None:
            self._check_rate()

    def _check_rate(self) -> None:
        check_number("fdr", self.fdr, Real, above=0)
        if self.fdr >= 1:  # type: ignore[operator]
            raise ValueError(
                f"fdr={self.fdr!r} cannot be used: give a number below 1, such as 0.1."
            )
        if self.search != "auto" or self.n_resamples:
            raise ValueError(
                f"fdr={self.fdr!r} chooses by comparison with knockoffs: leave search='auto' and "
                f"n_resamples=0 in place of {self.search!r} and {self.n_resamples}."
            )

    def warn_of_ignored(self, search: str, defaults: dict[str, Any]) -> None:
        """Warn of parameters that were set and that the search does not use."""
        for name, searches in USED_BY.items():
            value = getattr(self, name)
            if search not in searches and value != defaults[name]:
                warnings.warn(
                    f"{name}={value!r} is ignored by search {search!r}: it is used by "
                    f"{' and '.join(searches)}.",
                    UserWarning,
                    stacklevel=5,
                )

    def link_for(self, task: str) -> Link:
        if self.link != "auto":
            return LINKS[self.link]
        return LINKS["residual" if task == "regression" else "root"]
