"""The paper's own method: one descent on the mask of all columns, batch of rows by batch."""

import math
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from featgrad._support import Floats
from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_number, check_option
from featgrad.math.formulas import LINKS, first_peak
from featgrad.moments.running import RunningSums
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import BATCH_ROWS, BATCH_SCALE, BATCH_STEPS, COLUMNS_PER_BATCH_ROW, Needs
from featgrad.search.base import Job, Outcome, Search, Subset
from featgrad.search.masks import BatchDescent, BudgetMask, PenaltyMask, over_groups
from featgrad.search.units import best_first


class MiniBatch(Search):
    """Descent on the mask of all columns, batch of rows by batch: the published search.

    For a given number of features the mask always adds up to that number; "auto" uses this search
    for more than 500. With a `penalty` on the size of the mask, as in the paper, the features whose
    mask is open at the end are chosen, however many they are. No rows are held out: what the chosen
    features explain is estimated from the rows that they were chosen from, and so is too high.

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
        Passes over the rows; where `batch_size` is None, or takes all rows, so many that there are
        at least 40 steps.
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
            sizes = [int(size) for size in job.budgets.values]
            return Outcome([self._of_size(job, size) for size in sizes], job.budgets.chosen)
        link = self.link
        if link == "auto":
            link = "residual" if job.dataset.task == "regression" else "root"
        # The logits of excluded columns are closed for good.
        v = np.where(job.budgets.units.of_column < 0, -np.inf, 0.0)
        options = LINKS[link], self.penalty, self.learning_rate, self.tol, job.on_step
        problem = job.storage.row_moments()
        if problem is not None:
            moving = PenaltyMask(v, *options)
            self._descend(problem.scaled(), moving)
            return Outcome([moving.subset()], 0)
        moving = PenaltyMask(v.astype(np.float32), *options)
        cross = job.storage.cross()
        # Columns that do not vary have no spectrum; any scale will do.
        top = job.storage.top_eigenvalue(np.arange(len(v))) or 1.0
        batch_rows = min((self.batch_size or BATCH_ROWS) * self.accumulate, job.dataset.n_rows)
        rows = job.storage, _sums(job, cross, top)
        descent = BatchDescent(*rows, moving, batch_rows, self.max_iter)
        descent.run("natural size", self._epochs(job.storage.n_batches(batch_rows)))
        return Outcome([moving.subset()], 0)

    def _descend(self, problem: RowMoments, moving: PenaltyMask) -> None:
        """Over rows in memory, all at once or batch by batch."""
        n_rows = problem.rows.n_rows
        batch_size = max(self.batch_size or n_rows, problem.order + 1)
        batches = problem.batches(batch_size) if batch_size < n_rows else [problem]
        starts = range(0, len(batches), self.accumulate)
        groups = [batches[start : start + self.accumulate] for start in starts]
        over_groups(groups, moving, self.n_epochs, self.max_iter)

    def _epochs(self, n_batches: int) -> int:
        """So many that there are enough steps, where users do not decide how many these are."""
        if self.batch_size is not None and n_batches > 1:
            return self.n_epochs
        return max(self.n_epochs, math.ceil(BATCH_STEPS / n_batches))

    def _of_size(self, job: Job, size: int) -> Subset:
        """The set of a size.

        Without `batch_size` a step takes 1000 rows or, if more, a hundredth of the columns, but so
        many that 40 steps are left. Where processes wait for each other after each step, it takes
        all rows.
        """
        storage, n_rows = job.storage, job.dataset.n_rows
        many = max(BATCH_ROWS, storage.n_features // COLUMNS_PER_BATCH_ROW)
        many = n_rows if storage.is_divided else many
        batch_rows = self.batch_size or max(1, min(many, n_rows // BATCH_STEPS))
        batch_rows = min(batch_rows, n_rows)
        n_batches = storage.n_batches(batch_rows)
        n_epochs = self._epochs(n_batches)
        cross = storage.cross()
        marginals = np.sum(cross**2, axis=1)
        # Columns that do not vary have no spectrum; any scale will do.
        top = storage.top_eigenvalue(np.sort(best_first(marginals, size))) or 1.0
        scale = BATCH_SCALE * top / first_peak(job.coefficients)
        mask = BudgetMask(job.budgets.units, size, marginals, n_batches * n_epochs, job.on_step)
        descent = BatchDescent(storage, _sums(job, cross, scale), mask, batch_rows)
        descent.run(f"{size} features", n_epochs)
        return mask.subset()


def _sums(job: Job, cross: Floats, top: float) -> RunningSums:
    """Running sums over columns as they are streamed; after `Storage.cross`."""
    standardiser = job.storage.standardiser
    scale = 1 / np.where(standardiser.factor > 0, standardiser.factor, 1.0)
    origin = standardiser.origin
    return RunningSums(cross, standardiser.mean, scale, job.coefficients, top, origin)
