"""Learnability: the variance of a target that features explain, without fitting a model."""

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _get_feature_names, check_consistent_length

from featgrad._support import Floats, Indices
from featgrad._support.array_api import (
    is_dask,
    on_accelerator,
    on_host,
    placed_like,
    stays_in_library,
    without_rows,
)
from featgrad.checks import (
    MATRIX,
    MISSING,
    PREPROCESS,
    check_missing,
    check_on_accelerator,
    check_option,
    feature_indices,
    naming_columns,
)
from featgrad.columns.extremes import clipped, in_range
from featgrad.dataset import storage_of
from featgrad.dataset.base import RowSample
from featgrad.dataset.memory import Preparation
from featgrad.estimates.estimate import Estimate, estimated
from featgrad.math.formulas import up_to, value_at
from featgrad.math.tasks import ordered_labels
from featgrad.moments.least_squares import Gains, Weighted, best_linear, losses_without
from featgrad.moments.spectrum import spectrum
from featgrad.moments.sweeps import RowMoments, measure
from featgrad.plan import FOLDS, HELD_OUT_RIDGE, ROWS_PER_COLUMN

# Products that exact estimates may take: rows times squared columns.
_EXACT_WORK = 10**10
# What a filter sees of a direction of mean variance at least, or the estimate is a lower bound.
_LEAST_SEEN = 0.5
# Folds of the rows that gains are estimated from.
_GAIN_FOLDS = 10


class Learnability:
    """Prepare a data set once, then estimate how much any set of its features explains.

    The estimate is the fraction of the target's variance that the best linear model on the
    features could explain on new rows: the adjusted R^2 where rows are many, and an estimate from
    tuples of distinct rows where they are few, even fewer than features (Kong & Valiant 2018). Rows
    are taken as independent: of rows that belong together, pass one of each group. For features
    that were chosen from the same rows the estimate is too high: use
    `FeatureGradientSelector.learnability_` for those.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        The features. Arrays on an accelerator, such as torch tensors on a GPU, stay there, and so
        do arrays made from them. Of Dask arrays and dataframes at most 10,000 rows are used.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        The target. It may come from another array library or device than X.
    order : int, default=4
        Degree of the filter, 1 to 12: higher orders see weaker directions, with more noise.
        `estimate` lowers it if there are too few rows.
    filter : {"auto", "chebyshev", "monotone", "kong-valiant"} or array-like, default="auto"
        Polynomial that approximates 1 on the spectrum of the covariance. "chebyshev" and "monotone"
        never exceed 1. "auto" is "chebyshev" where there are fewer than two rows for each feature,
        and none otherwise: `estimate` is then the adjusted R^2 of least squares.
    task : {"auto", "regression", "binary", "multiclass", "multilabel", "ordinal"}, default="auto"
        Type of the target; "auto" finds it as `FeatureGradientSelector` does.
    preprocess : {"zscore", "center", "robust"}, default="zscore"
        Whether features are standardised or only centred.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows; a row of weight zero counts as absent.
    missing : {"error", "mean"}, default="error"
        Whether NaN in X is an error or counts as the mean of its column.
    random_state : int, RandomState instance or None, default=0
        Seed of the random order of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import Learnability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> data = Learnability(X, y)
    >>> print(data.estimate(["worst radius", "worst smoothness"]))
    66.9% (63.3 to 70.5%)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        order: int = 4,
        filter: str | ArrayLike = "auto",
        task: str = "auto",
        preprocess: str = "zscore",
        sample_weight: Any = None,
        missing: str = "error",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        check_option("missing", missing, MISSING)
        check_option("preprocess", preprocess, PREPROCESS)
        storage = "dask" if is_dask(X) else "device" if on_accelerator(X) else "memory"
        self.feature_names_in_ = _get_feature_names(without_rows(X) if storage == "dask" else X)
        # No rows of X: just its library and device.
        self._given = X[:0, :] if stays_in_library(X) and storage != "dask" else None
        if storage != "dask":
            y, sample_weight = ordered_labels(on_host(y)), on_host(sample_weight)
            check_consistent_length(X, y)
        if storage == "device":
            check_on_accelerator(X)
        if storage == "memory":
            with naming_columns():
                X = check_array(on_host(X), **MATRIX, ensure_min_samples=2, input_name="X")
            check_missing(X, missing)
            if preprocess == "robust":
                X, y = clipped(X, y, sample_weight, task)
            X = in_range(X, preprocess, self.feature_names_in_)
        self._is_exact = isinstance(filter, str) and filter == "auto"
        filter, rng = "chebyshev" if self._is_exact else filter, check_random_state(random_state)
        preparation = Preparation(order, filter, task, preprocess, missing, rng, FOLDS)
        rows = storage_of(storage, (X, y, sample_weight, None), preparation)
        self.task_, moments = rows.task, rows.row_moments()
        if moments is None:
            moments = RowMoments(*rows.sample(np.arange(rows.n_features))[:4], rows.filters)
        self._moments, self.n_features_in_ = moments.scaled(), moments.n_features

    @classmethod
    def _from_sample(cls, sample: RowSample, order: int) -> Self:
        """Rows that are prepared, with the default filter."""
        self = cls.__new__(cls)
        self.feature_names_in_ = self._given = None
        self._is_exact, self.task_ = True, sample.task
        self._moments = RowMoments(*sample[:4], up_to("chebyshev", order))
        self.n_features_in_ = self._moments.n_features
        return self

    def estimate(self, features: Any = None) -> Estimate:
        """Explained fraction of the target's variance for some features, with its interval.

        Parameters
        ----------
        features : array-like, default=None
            Column indices, column names, a boolean mask, or a mask of numbers between 0 and 1 with
            one entry per column; None stands for all features.

        Returns
        -------
        Estimate
            Scaled to the spectrum of these features.
        """
        mask = self._mask(features)
        chosen = np.flatnonzero(mask)
        if len(chosen) == 0:
            return Estimate(0.0, 0.0, 0)
        rows = self._rows(chosen) if self._is_exact and np.all(mask[chosen] == 1) else None
        if rows is not None:
            return Estimate(*best_linear(rows), len(chosen))
        return self._filtered(chosen, mask[chosen])

    def gains(self, features: Any, groups: ArrayLike | None = None) -> Gains:
        """Explained fraction that held-out rows lose without each one of the features.

        Ridge models of nine tenths of the rows predict the last tenth, with and without a feature.
        Of features that were chosen from the same rows those that were so by chance seem to be of
        use: see the gains of `FeatureGradientSelector.path_` for those.

        Parameters
        ----------
        features : array-like
            As for `estimate`.
        groups : array-like of shape (number of these features,), default=None
            Labels, in the order of the features' columns. Features that share one are left out
            together, and share their gain.

        Returns
        -------
        Gains
            Values and standard errors, each of shape (number of these features,), in the order of
            their columns.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from featgrad import Learnability
        >>> data = Learnability(*load_diabetes(return_X_y=True, as_frame=True))
        >>> data.gains(["bmi", "s3", "s5"]).values.round(2)
        array([0.11, 0.01, 0.09])
        >>> data.gains(["bmi", "s3", "s5"], groups=["body", "blood", "blood"]).values.round(2)
        array([0.11, 0.12, 0.12])
        """
        mask = self._mask(features)
        chosen = np.flatnonzero(mask)
        labels = np.arange(len(chosen)) if groups is None else np.asarray(groups)
        if labels.shape != chosen.shape:
            raise ValueError(
                f"groups has shape {labels.shape} but there are {len(chosen)} features: give one "
                "label for each."
            )
        if len(chosen) == 0:
            return Gains(*(placed_like(self._given, np.zeros(0)) for _ in range(2)))
        _, of_feature = np.unique(labels, return_inverse=True)
        moments = self._moments.columns(chosen)
        values = on_host(moments.rows.values())
        rows = Weighted(values, moments.outputs, moments.weights)
        every = np.arange(len(rows.weights))
        held_out = np.array_split(every, _GAIN_FOLDS)
        divisions = [(np.setdiff1d(every, test), test) for test in held_out]
        counted = np.ones((_GAIN_FOLDS, of_feature.max() + 1))
        found = losses_without(rows, of_feature, divisions, counted, HELD_OUT_RIDGE)
        return Gains(*(placed_like(self._given, part[of_feature]) for part in found))

    def alone(self, features: Any = None) -> Any:
        """Explained fraction of the target's variance by each one of the features by itself.

        Parameters
        ----------
        features : array-like, default=None
            As for `estimate`.

        Returns
        -------
        ndarray of shape (number of these features,)
            In the order of their columns.
        """
        # With the filter p(x) = x the explained fraction is additive in the features.
        linear = replace(self._moments, filters=(np.ones(1),), scale=1.0)
        _, gradient = linear.value_and_gradient(np.zeros(self.n_features_in_))
        return placed_like(self._given, gradient[self._mask(features) > 0])

    def value_and_gradient(self, mask: ArrayLike) -> tuple[float, Any]:
        """Explained fraction and its gradient with respect to the mask.

        Parameters
        ----------
        mask : array-like of shape (n_features,)
            Numbers between 0 and 1.

        Returns
        -------
        value : float
            Scaled to the spectrum of all features, so that masks can be compared.
        gradient : ndarray of shape (n_features,)
        """
        value, gradient = self._moments.value_and_gradient(self._mask(mask))
        return value, placed_like(self._given, gradient)

    def _rows(self, chosen: Indices) -> Weighted | None:
        """Rows of some columns, as many as take little time; None if too few for least squares."""
        moments, n_columns = self._moments, len(chosen)
        n_rows = min(len(moments.weights), max(1, _EXACT_WORK // n_columns**2))
        weights = moments.weights[:n_rows]
        if ROWS_PER_COLUMN * (n_columns + 1) * np.sum(weights**2) > weights.sum() ** 2:
            return None
        rows = moments.rows.columns(chosen)
        if n_rows < rows.n_rows:
            rows = rows.take(np.arange(n_rows))
        return Weighted(on_host(rows.values()), moments.outputs[:n_rows], weights)

    def _filtered(self, chosen: Indices, mask: Floats) -> Estimate:
        """Estimate by a filter, whose own error goes into the interval.

        The filter is 1 at the centre of the spectrum. Along directions of mean variance it sees
        less, which is a margin above; along those that are as far above the centre as the mean is
        below it, the value is too high.
        """
        moments = self._moments
        if len(chosen) < moments.n_features:
            moments = moments.columns(chosen)
        top, centre, mean = spectrum(moments.rows, mask, moments.weights)
        filters = tuple(row / value_at(row, centre / top) for row in moments.filters)
        value, error, order = measure(replace(moments, scale=top, filters=filters), mask)
        row = filters[order - moments.order - 1]
        above = min(centre**2 / mean / top, 1.0)
        seen, overshoot = value_at(row, mean / top), max(value_at(row, above) - 1, 0.0)
        largest = max(value, error)
        margin = largest * (1 / seen - 1) if seen >= _LEAST_SEEN else math.inf
        error = math.hypot(error, largest * overshoot / 2)
        return estimated(value, error, len(chosen), order, max(margin, 0.0))

    def _mask(self, features: Any) -> Floats:
        n_features = self.n_features_in_
        if features is None:
            return np.ones(n_features)
        given = np.asarray(on_host(features))
        if given.ndim != 1:
            raise ValueError(f"features has shape {given.shape}: give a list of columns or a mask.")
        if given.size == 0:
            return np.zeros(n_features)
        if given.dtype.kind in "OUTiu":
            mask = np.zeros(n_features)
            names = self.feature_names_in_
            mask[feature_indices("features", given.tolist(), n_features, names)] = 1.0
            return mask
        if given.shape != (n_features,):
            raise ValueError(
                f"features is a mask of length {len(given)} but X has {n_features} columns: give "
                "one entry per column."
            )
        mask = given.astype(np.float64)
        if not np.all((mask >= 0) & (mask <= 1)):
            raise ValueError("features as a mask must lie between 0 and 1: clip it first.")
        return mask


def learnability(X: Any, y: Any, *, features: Any = None, **options: Any) -> Estimate:
    """Explained fraction of the target's variance that features could reach, in one call.

    Parameters
    ----------
    X, y
        As for `Learnability`.
    features : array-like, default=None
        As for `Learnability.estimate`.
    **options
        As for `Learnability`.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad import learnability
    >>> print(learnability(*load_diabetes(return_X_y=True)))
    50.7% (44.2 to 57.1%)
    """
    return Learnability(X, y, **options).estimate(features)
