"""Learnability: the variance of a target that features explain, without fitting a model."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _get_feature_names, check_consistent_length

from featgrad.arrays import Floats, Indices
from featgrad.checks import (
    MATRIX,
    MISSING,
    check_missing,
    check_on_accelerator,
    check_option,
    feature_indices,
    naming_columns,
)
from featgrad.dataset.prepare import prepare, scaled
from featgrad.math.filters import up_to, value_at
from featgrad.math.links import probit_error_rate
from featgrad.math.targets import Target
from featgrad.moments.array_api import beside, keeps_its_place, on_accelerator, on_host
from featgrad.moments.problem import Problem
from featgrad.moments.spectrum import spectrum
from featgrad.moments.uncertainty import measure
from featgrad.preprocess.magnitude import in_range


@dataclass(frozen=True)
class Estimate:
    """Explained fraction of the target's variance, with its uncertainty.

    Attributes
    ----------
    value : float
        The estimate; unbiased, hence possibly a little below 0 where nothing can be learned.
    standard_error : float
        Its standard error.
    interval : tuple of float
        Its 95 % interval.
    n_features : int
        Number of features.
    order : int
        Order of the filter that was used.
    error_rate : float or None
        For a binary target: error rate of the best linear rule under a Gaussian probit model.
    """

    value: float
    standard_error: float
    n_features: int
    order: int
    error_rate: float | None = None

    @property
    def interval(self) -> tuple[float, float]:
        half = float(ndtri(0.975)) * self.standard_error
        return self.value - half, self.value + half

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f})"


class Learnability:
    """Prepare a data set once, then estimate how much any set of its features explains.

    The estimate is the fraction of the target's variance that the best linear model on the
    features could explain on new rows, found without fitting that model (Kong & Valiant 2018). It
    stays meaningful with fewer rows than features.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        The features. Arrays on an accelerator, such as torch tensors on a GPU, stay there, and so
        do arrays that come of them.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        The target. It may come from another array library or device than X.
    order : int, default=4
        Degree of the filter, 1 to 12: higher orders see weaker directions, with more noise.
        `estimate` lowers it if there are too few rows.
    filter : {"chebyshev", "monotone", "kong-valiant"} or array-like, default="chebyshev"
        Polynomial that approximates 1 on the spectrum of the covariance. The first two never exceed
        1.
    task : {"auto", "regression", "binary", "multiclass", "multilabel", "ordinal"}, default="auto"
        Type of the target.
    preprocess : {"zscore", "center"}, default="zscore"
        Whether features are standardised or only centred.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows; a row of weight zero counts as absent.
    missing : {"error", "mean"}, default="error"
        Whether NaN in X is refused or counts as its column's mean.
    random_state : int, RandomState instance or None, default=0
        Seed of the random order of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import Learnability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> data = Learnability(X, y)
    >>> print(data.estimate(["worst radius", "worst smoothness"]))
    0.662 (0.612 to 0.713)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        order: int = 4,
        filter: str | ArrayLike = "chebyshev",
        task: str = "auto",
        preprocess: str = "zscore",
        sample_weight: Any = None,
        missing: str = "error",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        check_option("missing", missing, MISSING)
        self.feature_names_in_ = _get_feature_names(X)
        # No rows of X: just its library and device.
        self._given = X[:0, :] if keeps_its_place(X) else None
        y, sample_weight = on_host(y), on_host(sample_weight)
        options: dict[str, Any] = {"order": order, "filter": filter, "task": task}
        options |= {"sample_weight": sample_weight, "rng": check_random_state(random_state)}
        check_consistent_length(X, y)
        if on_accelerator(X):
            # Imported here: it needs torch.
            from featgrad.dataset.device.prepare import on_device

            check_on_accelerator(X)
            options |= {"preprocess": preprocess, "missing": missing}
            problem, target = on_device(X, y, None, **options).problem()
        else:
            with naming_columns():
                X = check_array(on_host(X), **MATRIX, ensure_min_samples=2, input_name="X")
            check_missing(X, missing)
            X = in_range(X, preprocess, self.feature_names_in_)
            prepared = prepare(X, y, **options)
            problem, target = prepared.problem(X, preprocess), prepared.target
        self._adopt(scaled(problem), target)

    @classmethod
    def from_prepared(cls, problem: Problem, target: Target) -> Self:
        """Use a prepared problem, with the default filter in place of its own."""
        self = cls.__new__(cls)
        self.feature_names_in_ = self._given = None
        self._adopt(replace(problem, filters=up_to("chebyshev", problem.order)), target)
        return self

    def _adopt(self, problem: Problem, target: Target) -> None:
        self._problem, self._target = problem, target
        self.task_ = target.task
        self.n_features_in_ = problem.n_features

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
            return Estimate(0.0, 0.0, 0, 0, self._error_rate(0.0))
        problem = self._restricted(chosen, mask)
        value, error, order = measure(problem, mask[chosen])
        return Estimate(value, error, len(chosen), order, self._error_rate(value))

    def gains(self, features: Any, groups: ArrayLike | None = None) -> Any:
        """Explained fraction that is lost without each one of the features.

        Parameters
        ----------
        features : array-like
            As for `estimate`.
        groups : array-like of shape (number of these features,), default=None
            Labels, in the order of the features' columns. Features that share one are left out
            together, and share their gain.

        Returns
        -------
        ndarray of shape (number of these features,)
            In the order of their columns.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from featgrad import Learnability
        >>> data = Learnability(*load_diabetes(return_X_y=True, as_frame=True))
        >>> data.gains(["bmi", "s4", "s5"]).round(2)
        array([0.14, 0.01, 0.08])
        >>> data.gains(["bmi", "s4", "s5"], groups=["body", "blood", "blood"]).round(2)
        array([0.14, 0.12, 0.12])
        """
        mask = self._mask(features)
        chosen = np.flatnonzero(mask)
        if len(chosen) == 0:
            return beside(self._given, np.zeros(0))
        problem = self._restricted(chosen, mask)
        whole = problem.value(mask[chosen])
        labels = np.arange(len(chosen)) if groups is None else np.asarray(groups)
        if labels.shape != chosen.shape:
            raise ValueError(
                f"groups has shape {labels.shape} but there are {len(chosen)} features: give one "
                "label for each."
            )
        different, of_feature = np.unique(labels, return_inverse=True)
        without = (mask[chosen] * (of_feature != group) for group in range(len(different)))
        gains = np.array([whole - problem.value(left) for left in without])
        return beside(self._given, gains[of_feature])

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
        linear = replace(self._problem, filters=(np.ones(1),), scale=1.0)
        _, gradient = linear.value_and_gradient(np.zeros(self.n_features_in_))
        return beside(self._given, gradient[self._mask(features) > 0])

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
        value, gradient = self._problem.value_and_gradient(self._mask(mask))
        return value, beside(self._given, gradient)

    def _restricted(self, chosen: Indices, mask: Floats) -> Problem:
        """The problem of some columns, scaled to their spectrum.

        Each filter is normalised to 1 at the centre of the spectrum.
        """
        problem = self._problem
        if len(chosen) < problem.n_features:
            problem = problem.columns(chosen)
        top, centre = spectrum(problem.engine, mask[chosen], problem.weights)
        filters = tuple(row / value_at(row, centre / top) for row in problem.filters)
        return replace(problem, scale=top, filters=filters)

    def _error_rate(self, value: float) -> float | None:
        share = self._target.positive_share
        return None if share is None else probit_error_rate(value, share)

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
    0.506 (0.446 to 0.566)
    """
    return Learnability(X, y, **options).estimate(features)
