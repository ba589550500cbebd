"""The way from `fit` to the rows: short enough to be read from top to bottom."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import featgrad
from featgrad import FeatureGradientSelector
from featgrad.columns.sums import ColumnSums
from featgrad.dataset.all_moments import FoldMoments
from featgrad.dataset.row_sums import PriceSums

MOST_FRAMES = 6


def own_frames() -> list[str]:
    """Functions of the package that are being called, the outermost first."""
    package = Path(featgrad.__file__).parent
    stack = reversed(inspect.stack())
    return [frame.function for frame in stack if package in Path(frame.filename).parents]


@pytest.mark.parametrize(
    ("n_rows", "owner", "product"),
    [
        (60, ColumnSums, "_add_dense"),  # means and variances of some rows
        (60, PriceSums, "add"),  # the search among more columns than rows
        (200, FoldMoments, "add"),  # moments of all columns
    ],
)
def test_few_calls_lie_between_fit_and_a_product(monkeypatch, n_rows, owner, product):
    found, original = [], getattr(owner, product)

    def watched(*arguments):
        found.append([*own_frames(), product])
        return original(*arguments)

    monkeypatch.setattr(owner, product, watched)
    X = np.random.default_rng(0).standard_normal((n_rows, 100))
    FeatureGradientSelector(5, estimate=False).fit(X, X[:, 0])
    assert found[0][0] == "fit"
    assert len(found[0]) <= MOST_FRAMES, found[0]
