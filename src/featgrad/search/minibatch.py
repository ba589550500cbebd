"""The paper's own method: one descent on the mask of all columns, batch of rows by batch."""

from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_number, check_option
from featgrad.math.links import LINKS, Link
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import STREAM_BATCH_ROWS, Needs
from featgrad.search import penalty
from featgrad.search.base import Job, Outcome, Search, Subset
from featgrad.search.progress import Found


class MiniBatch(Search):
    """Descent on the mask of all columns, batch of rows by batch: the published search.

    With a number of features the mask always adds up to it, which serves sets of thousands of
    features: "auto" chooses it above 500. With a `penalty` on the size of the mask, as in the
    paper, the features whose mask is open at the end are chosen, however many they are. Sets are
    not searched for without held-out rows: what they explain is estimated from the rows that chose
    them, hence too high.

    Parameters
    ----------
    penalty : float or None, default=None
        Weight of the mask's size relative to the loss, which decides the number of features; the
        paper's is 1. None leaves it to `n_features_to_select`.
    link : {"auto", "residual", "root", "probit"}, default="auto"
        Loss as a function of the explained fraction z: the residual ``1 - z``, the authors'
        ``(1 - sqrt(z)) / 2`` or the probit model's error rate. "auto" takes the residual for
        regression and the authors' otherwise. It matters with a `penalty` only.
    learning_rate : float, default=0.1
        Step of Adam, with a `penalty`.
    batch_size : int or None, default=None
        Rows of a step. None takes all rows in memory with a `penalty` (1000 where they are read
        block by block), otherwise a fortieth of them, at most 1000 or a hundredth of the features.
    accumulate : int, default=1
        Batches whose gradients are added up for one step, with a `penalty`.
    n_epochs : int, default=1
        Passes over the rows where a step takes not all of them.
    max_iter : int, default=1000
        Largest number of steps, with a `penalty`.
    tol : float, default=1e-5
        Relative change of the objective that ends a search with a `penalty`.
    order : int, default=4
        Degree of the filter, 1 to 12: higher orders see more of the redundancy between features.
    filter : {"monotone", "kong-valiant", "chebyshev"} or array-like, default="monotone"
        Polynomial that stands for 1 on the covariance's spectrum. The paper's is "kong-valiant".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import FeatureGradientSelector, MiniBatch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = MiniBatch(penalty=1.0, filter="kong-valiant")
    >>> selector = FeatureGradientSelector(search=search, estimate=False, random_state=0)
    >>> selector.fit(X, y).n_features_ < 30
    True
    """

    needs = Needs(groups_and_costs=False, streams=True)

    def __init__(
        self,
        penalty: float | None = None,
        *,
        link: str = "auto",
        learning_rate: float = 0.1,
        batch_size: int | None = None,
        accumulate: int = 1,
        n_epochs: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        order: int = 4,
        filter: str | ArrayLike = "monotone",
    ) -> None:
        self.penalty = penalty
        self.link = link
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.accumulate = accumulate
        self.n_epochs = n_epochs
        self.max_iter = max_iter
        self.tol = tol
        self.order = order
        self.filter = filter

    def check(self) -> None:
        super().check()
        check_option("link", self.link, ("auto", *LINKS))
        for name in ("max_iter", "n_epochs", "accumulate"):
            check_number(name, getattr(self, name), Integral, at_least=1)
        if self.batch_size is not None:
            check_number("batch_size", self.batch_size, Integral, at_least=2)
        if self.penalty is not None:
            check_number("penalty", self.penalty, Real, at_least=0)
        check_number("tol", self.tol, Real, at_least=0)
        check_number("learning_rate", self.learning_rate, Real, above=0)

    @property
    def size_rule(self) -> str | None:
        """The penalty decides the size, where it is given."""
        return None if self.penalty is None else "as many as the penalty leaves"

    @property
    def balances_classes(self) -> bool:
        """The paper takes classes by their shares."""
        return self.penalty is None

    # Products are short: threads that share them would mostly wait for each other.
    @one_blas_thread()
    def run(self, job: Job) -> Outcome:
        if self.penalty is None:
            assert job.budgets.chosen is not None
            return Outcome(self._budgeted(job), job.budgets.chosen)
        problem = job.storage.row_moments()
        found = self._streamed(job) if problem is None else self._all_rows(problem.scaled(), job)
        chosen = np.flatnonzero(found.scores > 0)
        # A penalty that leaves nothing still leaves the best feature: transform needs a column.
        if len(chosen) == 0:
            chosen = np.array([np.argmax(found.scores)])
        scores = found.scores.astype(np.float64)
        usable = np.isfinite(scores)
        scores[~usable] = scores[usable].min() - 1
        return Outcome([Subset(float(len(chosen)), chosen, scores, found.steps)], 0)

    def _all_rows(self, problem: RowMoments, job: Job) -> Found:
        """Of rows in memory, all at once or batch by batch."""
        n_rows = problem.rows.n_rows
        batch_size = max(self.batch_size or n_rows, problem.order + 1)
        batches = problem.batches(batch_size) if batch_size < n_rows else [problem]
        groups = range(0, len(batches), self.accumulate)
        assert self.penalty is not None
        return penalty.search(
            [batches[start : start + self.accumulate] for start in groups],
            _logits(job, np.float64),
            link=self._link_for(job.dataset.task),
            penalty=self.penalty,
            learning_rate=self.learning_rate,
            max_iter=self.max_iter,
            tol=self.tol,
            n_epochs=self.n_epochs,
            on_step=job.on_step,
        )

    def _streamed(self, job: Job) -> Found:
        # Imported here: the compiler behind it takes longer to load than everything else.
        from featgrad.search.stream_penalty import StreamPenaltySearch

        assert self.penalty is not None
        steps = self.penalty, self.learning_rate, self.tol
        link = self._link_for(job.dataset.task)
        search = StreamPenaltySearch(
            job.storage,
            coefficients=job.coefficients,
            descent=penalty.Descent(_logits(job, np.float32), link, *steps, job.on_step),
            batch_rows=(self.batch_size or STREAM_BATCH_ROWS) * self.accumulate,
            n_epochs=self.n_epochs,
            max_iter=self.max_iter,
        )
        return search.found()

    def _budgeted(self, job: Job) -> list[Subset]:
        """The set of each size."""
        # Imported here: the compiler behind it takes longer to load than everything else.
        from featgrad.search.stream import StreamSearch

        search = partial(
            StreamSearch,
            coefficients=job.coefficients,
            batch_rows=self.batch_size,
            n_epochs=self.n_epochs,
            on_step=job.on_step,
        )
        budgets = job.budgets
        return [search(job.storage, budgets.units, int(size)).best() for size in budgets.values]

    def _link_for(self, task: str) -> Link:
        if self.link != "auto":
            return LINKS[self.link]
        return LINKS["residual" if task == "regression" else "root"]


def _logits(job: Job, dtype: Any) -> NDArray[Any]:
    """Half open; those of excluded columns are closed for good."""
    return np.where(job.budgets.units.of_column < 0, -np.inf, 0.0).astype(dtype)
