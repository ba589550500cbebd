"""Is there anything to learn? Scores compared with those of shuffled targets."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from featgrad._support import Floats
from featgrad.checks import check_number
from featgrad.dataset.splits import Belonging
from featgrad.estimates.diagnosis import DataWarning
from featgrad.math.tasks import ordered_labels
from featgrad.readers.block import group_keys


class PermutationTest(NamedTuple):
    """A held-out score and those of shuffled targets.

    Parameters
    ----------
    p_value : float
        Share of scores, the one of the target among them, that are at least as good.
    score : float
        The best held-out score over the sizes of the path: AUC or R^2 of a ridge model.
    shuffled : ndarray
        The same for shuffled targets.
    """

    p_value: float
    score: float
    shuffled: Floats


def permutation_test(
    selector: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    n_permutations: int = 99,
    random_state: int | np.random.RandomState | None = None,
) -> PermutationTest:
    """Test whether the features predict the target better than chance.

    The whole search, with its held-out rows, is repeated for shuffled targets. The p-value is exact
    whatever the features and the target are like, as long as rows, or groups of them, are
    exchangeable. Rows that depend on their neighbours are not: where `cv` of the selector holds out
    runs of rows, targets are shifted along the rows instead.

    Parameters
    ----------
    selector : FeatureGradientSelector
        Fitted or not; it stays as it is.
    X, y
        As for its `fit`.
    groups : array-like of shape (n_rows,), default=None
        Labels of rows that belong together, as for `fit`; all rows of a group have one target, and
        whole groups are shuffled.
    n_permutations : int, default=99
        Number of shuffled targets: the p-value is at least ``1 / (1 + n_permutations)``.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles.

    Returns
    -------
    PermutationTest

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad import FeatureGradientSelector, permutation_test
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = FeatureGradientSelector(2, random_state=0)
    >>> permutation_test(selector, X, y, n_permutations=19, random_state=0).p_value
    0.05
    """
    check_number("n_permutations", n_permutations, Integral, at_least=1)
    rng = check_random_state(random_state)
    y = np.asarray(ordered_labels(y))
    # Shuffled targets are of the same task, so that scores can be compared.
    selector = clone(selector).set_params(estimate=True).fit(X, y, groups=groups)
    score = _best_score(selector, y)
    selector.set_params(task=str(selector.task_))
    shuffle = _shuffle_of(y, groups, selector.cv, rng)
    fits = (clone(selector).fit(X, shuffle(), groups=groups) for _ in range(n_permutations))
    with catch_warnings():  # that there is nothing to learn from shuffled targets
        simplefilter("ignore", DataWarning)
        shuffled = np.array([_best_score(fitted, y) for fitted in fits])
    p_value = (1 + np.count_nonzero(shuffled >= score)) / (1 + n_permutations)
    return PermutationTest(float(p_value), score, shuffled)


def _shuffle_of(y: Any, groups: Any, cv: Any, rng: np.random.RandomState) -> Callable[[], Any]:
    """Makes targets that depend on each other as those given do, but not on the features."""
    if groups is not None:
        keys = group_keys(groups, len(y))
        _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
        if not np.array_equal(y[first][of_row], y):
            raise ValueError(
                "groups have rows of different targets, which cannot be shuffled between groups: "
                "give one row for each group, or leave groups out if rows are independent."
            )
        return lambda: rng.permutation(y[first])[of_row]
    layout = Belonging(cv).roles(y, len(y)).layout(np.arange(len(y)), n_folds=1, order=1)
    if layout.clusters is not None:
        return lambda: np.roll(y, rng.randint(1, len(y)), axis=0)
    return lambda: rng.permutation(y)


def _best_score(fitted: Any, y: Any) -> float:
    scores = [point.score.value for point in fitted.path_ if point.score is not None and point.size]
    if not scores:
        raise ValueError(
            f"search={fitted.plan_.search!r} with {len(y)} rows has no held-out score: use "
            "search='auto' or WorkingSet(), and at least some 24 rows."
        )
    return float(max(scores))
