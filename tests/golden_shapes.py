"""Sixteen shapes of data and requests, one for each way through a fit.

The truth of each is strong enough that the choice does not depend on rounding; targets are rounded
because the order of rows depends on their last bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from featgrad import FeatureGradientSelector, MiniBatch
from featgrad.readers import open_source


def planted(n_rows: int, n_columns: int, n_active: int, seed: int = 0):
    """Independent columns, of which the first ones decide the target, in falling strength."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    weights = np.linspace(4.0, 2.0, n_active)
    return X, (X[:, :n_active] @ weights + rng.standard_normal(n_rows)).round(6)


def sparse_planted(n_rows: int, n_columns: int, n_active: int, density: float):
    """The same with few entries other than zero."""
    rng = np.random.default_rng(1)
    X = sparse.random_array((n_rows, n_columns), density=density, random_state=rng, format="csr")
    strength = np.asarray(X[:, :n_active].sum(axis=1)).ravel()
    return X, (strength + 0.1 * strength.std() * rng.standard_normal(n_rows)).round(6)


def two_classes(y):
    return (y > np.median(y)).astype(int)


def three_classes(y):
    return np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


def fitted(X, y, k="auto", **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(k, random_state=0, **options).fit(X, y)


def from_source(X, y, k, block_rows: int, **options) -> FeatureGradientSelector:
    source = open_source(X, target=y, block_rows=block_rows)
    return FeatureGradientSelector(k, random_state=0, **options).fit_source(source)


def in_chunks(X, y, k, rows: int) -> FeatureGradientSelector:
    selector = FeatureGradientSelector(k, random_state=0)
    for start in range(0, X.shape[0], rows):
        selector.partial_fit(X[start : start + rows], y[start : start + rows])
    return selector.finalize()


def dense_tall():
    return fitted(*planted(2000, 30, 5), 5)


def dense_wide_classes():
    X, y = planted(80, 500, 3)
    return fitted(X, two_classes(y), 3)


def dense_wider_than_a_working_set():
    return fitted(*planted(300, 1500, 6), 6)


def csr():
    return fitted(*sparse_planted(600, 1000, 8, 0.1), 8)


def several_classes():
    X, y = planted(300, 60, 4)
    return fitted(X, three_classes(y), 4)


def several_outputs():
    X, y = planted(300, 60, 4)
    return fitted(X, np.column_stack([y, X[:, 10] + 0.1 * y]), 5)


def path():
    return fitted(*planted(500, 100, 4), 4, path_sizes=[1, 2])


def automatic_size():
    return fitted(*planted(1000, 40, 4), "auto", path_sizes=[1, 2, 4, 10, 20])


def natural_size():
    return fitted(*planted(500, 40, 4), search=MiniBatch(penalty=1.0))


def groups():
    return fitted(*planted(400, 40, 8), 8, feature_groups=np.arange(40) // 4)


def costs():
    return fitted(*planted(400, 12, 4), costs=np.r_[3.0, np.ones(11)], max_cost=3)


def kept_and_excluded():
    return fitted(*planted(400, 40, 5), 5, keep=[30], exclude=[0])


def many_features():
    return fitted(*planted(1200, 2000, 3), 600)


def source_wide():
    return from_source(*planted(300, 1500, 6), 6, 50)


def source_tall():
    return from_source(*planted(3000, 40, 5), 5, 500)


def chunks_few_columns():
    return in_chunks(*planted(1500, 30, 5), 5, 200)


def chunks_many_columns():
    return in_chunks(*planted(900, 1500, 5), 5, 300)


SHAPES: dict[str, Callable[[], FeatureGradientSelector]] = {
    shape.__name__: shape
    for shape in (
        dense_tall, dense_wide_classes, dense_wider_than_a_working_set, csr, several_classes,
        several_outputs, path, automatic_size, natural_size, groups, costs, kept_and_excluded,
        many_features, source_wide, source_tall, chunks_few_columns, chunks_many_columns,
    )
}  # fmt: skip
