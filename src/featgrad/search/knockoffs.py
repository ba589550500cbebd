"""The features that keep a false discovery rate, by comparison with knockoffs.

1. Each unit is compared with copies of its columns that have no effect on the target: lasso
   coefficients of both together, less those of the copies. Losses without a feature, as in other
   searches, separate a column from a similar copy less well: a set holds one of the two or both,
   where coefficients are shared out between them. The penalty is that of the smallest generalised
   cross-validation error along the path, which treats columns and copies alike.
2. Such a statistic is as likely below 0 as above for a unit that has no effect, so that the units
   below ``-t`` show how many of those above t are false (Barber & Candès 2015). Units that most
   knockoffs choose depend little on the seed (Ren, Wei & Candès 2023). Of these at most twice as
   many are false as one knockoff chooses, in expectation; no more than with one if, among units
   that have no effect, those are fewer that are chosen more often. E-values of the same knockoffs
   keep the rate exactly and find less (Ren & Barber 2024).
3. One knockoff chooses at least ``1 / fdr`` units. Where none are chosen each unit is tested by
   itself: what all other columns leave of a column and what they leave of the target are
   uncorrelated if the unit has no effect. Both are residuals of lasso models without the unit, so
   that errors of the two models multiply (conditional randomisation with distilled columns: Liu,
   Katsevich, Janson & Ramdas 2022). Variances are those of the products themselves: they may differ
   from row to row.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats
from sklearn import config_context  # type: ignore[attr-defined]
from sklearn.linear_model import enet_path

from featgrad import plan
from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import dense
from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_number
from featgrad.columns.sums import statistics
from featgrad.dataset.memory import InMemory, Prepared
from featgrad.plan import Needs, PlanLine
from featgrad.search.base import Discoveries, Job, Outcome, Search
from featgrad.search.copies import knockoff_copies
from featgrad.search.units import Units, best_first


class Knockoffs(Search):
    """As many features as keep the false discovery rate, by comparison with knockoffs.

    As many are chosen as keep the expected share of false ones about below the rate, by knockoffs
    or, if these choose none, by p-values. A feature is false if the target does not depend on it
    given all others. For `fit` on an array with independent rows; features are assumed to be about
    jointly Gaussian. More than 5,000 are first screened on a third of the rows. See `discoveries_`
    of the selector.

    Parameters
    ----------
    fdr : float, default=0.1
        The false discovery rate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import FeatureGradientSelector, Knockoffs
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = FeatureGradientSelector(search=Knockoffs(fdr=0.2), random_state=0).fit(X, y)
    >>> selector.discoveries_.fdr
    0.2
    """

    needs = Needs(storages=("memory",), independent_rows=True)

    def __init__(self, fdr: float = 0.1) -> None:
        self.fdr = fdr

    def check(self) -> None:
        check_number("fdr", self.fdr, Real, above=0)
        if self.fdr >= 1:
            raise ValueError(
                f"fdr={self.fdr!r} cannot be used: give a number below 1, such as 0.1."
            )

    @property
    def size_rule(self) -> str:
        """The rate decides the size."""
        return f"as many as keep the expected share of false ones below {self.fdr:g}"

    def explain(self, n_features: int, budgets: Sequence[float]) -> list[PlanLine]:
        agree = (
            f"above {plan.KNOCKOFF_MAJORITY:.0%} of them have to agree; p-values where they choose "
        )
        lines = [PlanLine("knockoffs", f"{plan.KNOCKOFF_COPIES} copies", f"{agree}none")]
        if n_features > plan.KNOCKOFF_COLUMNS:
            part = f"{plan.SCREENING_ROWS:.0%} of the rows, which are not used again"
            lines.append(PlanLine("screening", part, f"more than {plan.KNOCKOFF_COLUMNS} features"))
        return lines

    @one_blas_thread()
    def run(self, job: Job) -> Outcome:
        assert isinstance(job.dataset, InMemory)
        rows = job.dataset.X, job.dataset.prepared
        # Checks of parameters take as long as a path of the lasso, of which there are many.
        with config_context(skip_parameter_validation=True):
            found = discover(*rows, job.budgets.units, self.fdr, job.rng)
        return Outcome([found.subset()], 0, discoveries=found)


def discover(
    X: Any, prepared: Prepared, units: Units, fdr: float, rng: np.random.RandomState
) -> Discoveries:
    """Compare each unit with its knockoffs, and test each where these choose none."""
    rows, weights, outputs = X[prepared.rows], prepared.weights, prepared.target.outputs
    usable = units.of_column >= 0
    if X.shape[1] > plan.KNOCKOFF_COLUMNS:
        # The rows that screen are not used again.
        n_first = round(plan.SCREENING_ROWS * len(weights))
        part, others = slice(n_first), slice(n_first, None)
        count = min(
            plan.KNOCKOFF_COLUMNS, math.ceil(plan.SCREENED_PER_ROW * (len(weights) - n_first))
        )
        usable &= _screened(rows[part], outputs[part], weights[part], units, count)
        rows, outputs, weights = rows[others], outputs[others], weights[others]
    columns = _standardised(rows[:, np.flatnonzero(usable)], weights)
    varies = columns.any(axis=0)
    usable[usable] = varies
    # Units of the usable columns, numbered.
    names, of_column = np.unique(units.of_column[usable], return_inverse=True)
    columns, outputs = columns[:, varies], _standardised(outputs, weights)
    statistics = np.array(
        [
            differences(columns, copies, outputs, of_column, rng)
            for copies in knockoff_copies(columns, weights, of_column, plan.KNOCKOFF_COPIES, rng)
        ]
    )
    often = frequencies(statistics, fdr)
    chosen, tested = often > plan.KNOCKOFF_MAJORITY, None
    if not chosen.any():
        tested = p_values(columns, outputs, of_column)
        chosen = step_up(tested, plan.TESTED_RATE * fdr)

    def spread(of_units: Any, excluded: float = 0.0) -> Floats:
        every = np.full(units.count, excluded)
        every[names] = of_units
        return np.where(usable, units.spread(every, excluded), excluded)

    return Discoveries(
        fdr,
        spread(statistics.mean(axis=0)),
        spread(often),
        None if tested is None else spread(tested, 1.0),
        spread(by_e_values(statistics, fdr)) > 0,
        spread(chosen) > 0,
        usable,
    )


def _screened(X: Any, outputs: Floats, weights: Floats, units: Units, count: int) -> Flags:
    """Columns of the units that are most correlated with the outputs by themselves."""
    products = _standardised(X, weights).T @ _standardised(outputs, weights)
    along, largest = np.linalg.norm(products, axis=1), np.zeros(units.count)
    inside = units.of_column >= 0
    np.maximum.at(largest, units.of_column[inside], along[inside])
    kept = np.zeros(X.shape[1], bool)
    kept[units.columns_of(np.sort(best_first(largest, count)))] = True
    return kept


def _standardised(X: Any, weights: Floats) -> Floats:
    """Rows times the roots of their weights, columns of mean 0 and mean square 1 then.

    Columns that do not vary are 0, as are missing entries. Knockoffs are dense, so that a dense
    copy of a sparse matrix does not change what is needed.
    """
    X = dense(X).astype(np.float64)
    weights = weights / weights.sum()
    found = statistics(X, weights)
    X, deviation = np.nan_to_num(X - found.mean), np.sqrt(found.variance)
    varies = deviation > np.finfo(np.float32).eps * np.abs(X).max(axis=0)
    scaled = np.where(varies, X, 0.0) / np.where(varies, deviation, 1.0)
    return np.asarray(scaled * np.sqrt(weights * len(weights))[:, None])


def differences(
    X: Floats, copies: Floats, outputs: Floats, units: Indices, rng: np.random.RandomState
) -> Floats:
    """Coefficients of each unit less those of its knockoff, in sums of norms over outputs.

    Units change places with their knockoffs at random: descent treats columns alike only at its
    end.
    """
    count = int(units.max()) + 1
    signs = rng.choice([-1.0, 1.0], count)
    stays = signs[units] > 0
    both = np.vstack([np.where(stays, X, copies).T, np.where(stays, copies, X).T]).T
    both /= np.sqrt(np.mean(both**2, axis=0))
    beta = lasso(both, outputs, both.T @ both if both.shape[1] <= len(both) else None)
    first, second = np.split(np.linalg.norm(beta, axis=1), 2)
    return signs * np.bincount(units, first - second, minlength=count)


def lasso(X: Floats, outputs: Floats, gram: Floats | None = None) -> Floats:
    """Coefficients at the penalty with the smallest generalised cross-validation error.

    Penalties are on the norm of a column's coefficients over outputs. They fall until some have not
    made the error smaller, or more columns are active than a share of the rows. Products of the
    columns make it faster for one output.
    """
    n_rows, n_outputs = outputs.shape
    X, along = np.asfortranarray(X), X.T @ outputs
    largest = float(np.linalg.norm(along, axis=1).max()) / n_rows
    targets = np.asfortranarray(outputs) if n_outputs > 1 else outputs[:, 0]
    options: dict[str, Any] = {
        "precompute": False,
        "tol": plan.PATH_TOLERANCE,
        "check_input": False,
    }
    if gram is not None and n_outputs == 1:
        options |= {"precompute": gram, "Xy": along[:, 0]}
    best, least, start = np.zeros((n_outputs, X.shape[1])), np.inf, None
    penalties = largest * np.geomspace(1, plan.PATH_END, plan.PATH_POINTS)
    for few in penalties.reshape(-1, plan.PATH_PATIENCE) if largest else ():
        _, path, _ = enet_path(X, targets, l1_ratio=1.0, alphas=few, coef_init=start, **options)
        start, path = path[..., -1], path.reshape(n_outputs, X.shape[1], -1)
        used = np.flatnonzero(path.any(axis=(0, 2)))
        left = outputs.T[:, None] - np.tensordot(path[:, used], X[:, used], (1, 1))
        active = np.count_nonzero(path.any(axis=0), axis=0) / n_rows
        errors = np.sum(left**2, axis=(0, 2)) / (1 - active.clip(max=plan.PATH_SHARE)) ** 2
        errors[active > plan.PATH_SHARE] = np.inf
        if errors.min() < least:
            best, least = path[..., errors.argmin()], errors.min()
        if least not in errors or active.max() > plan.PATH_SHARE:
            break
    return best.T


def knockoff_threshold(statistics: Floats, fdr: float) -> float:
    """The least t at which the share of false ones among those above is estimated small enough.

    That is ``(1 + #(W <= -t)) / #(W >= t)`` at most `fdr`. Infinite where there is no such t.
    """
    ranked, magnitudes = np.sort(statistics), np.sort(np.abs(statistics[statistics != 0]))
    above = len(ranked) - np.searchsorted(ranked, magnitudes, side="left")
    below = np.searchsorted(ranked, -magnitudes, side="right")
    enough = np.flatnonzero(1 + below <= fdr * above)
    return float(magnitudes[enough[0]]) if len(enough) else np.inf


def frequencies(statistics: Floats, fdr: float) -> Floats:
    """Share of the knockoffs that choose each unit, from statistics of shape (knockoffs, units)."""
    return np.asarray(np.mean([row >= knockoff_threshold(row, fdr) for row in statistics], axis=0))


def by_e_values(statistics: Floats, fdr: float) -> Flags:
    """Units that the mean of e-values over knockoffs chooses, each of them at half the rate."""
    n_units = statistics.shape[1]
    values = np.zeros(n_units)
    for row in statistics:
        least = knockoff_threshold(row, fdr / 2)
        values += (row >= least) / (1 + np.sum(row <= -least)) / len(statistics)
    # A p-value of 1 / (units * mean) is one of e-values, whatever their dependence.
    return step_up(1 / np.maximum(n_units * values, 1.0), fdr)


def step_up(p_values: Floats, fdr: float) -> Flags:
    """Units that Benjamini & Hochberg (1995) choose."""
    # Equal up to rounding counts as equal.
    return np.asarray(stats.false_discovery_control(p_values) <= fdr * (1 + 1e-9))


def p_values(X: Floats, outputs: Floats, units: Indices) -> Floats:
    """Of units 0, 1 and so on; columns have mean square 1."""
    others, gram = X.copy(order="F"), X.T @ X
    coefficients = lasso(X, outputs, gram)
    by_all = outputs - X @ coefficients
    found = np.ones(int(units.max()) + 1)

    def left(of: Floats) -> Floats:
        return np.asarray(of - others @ lasso(others, of, gram))

    for unit in range(len(found)):
        own = np.flatnonzero(units == unit)
        products = gram[own]
        others[:, own] = gram[own] = gram[:, own] = 0
        # A model without a unit that it does not use is the same model.
        left_of_outputs = left(outputs) if coefficients[own].any() else by_all
        parts = np.hstack([left(X[:, [column]]) for column in own])
        # The lasso leaves a little of a column that others are copies of.
        parts = parts[:, np.mean(parts**2, axis=0) > plan.LEAST_OWN_VARIANCE]
        if parts.size:
            pairs = parts[:, :, None] * left_of_outputs[:, None]
            found[unit] = _mean_is_zero(pairs.reshape(len(X), -1))
        others[:, own], gram[own], gram[:, own] = X[:, own], products, products.T
    return found


def _mean_is_zero(X: Floats) -> float:
    """p-value of the hypothesis that all columns have mean 0: Hotelling's test."""
    ones = np.ones(len(X))
    coefficients, _, rank, _ = np.linalg.lstsq(X, ones)
    explained, free = float(ones @ X @ coefficients), len(X) - int(rank)
    if rank == 0 or free == 0:
        return 1.0
    return float(stats.f.sf(explained / rank * free / max(len(X) - explained, 1e-300), rank, free))
