"""Selectors whose rows come in chunks, here or apart."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from featgrad._support.array_api import on_host
from featgrad._support.types import Keys
from featgrad.checks import MATRIX, check_missing, check_raw_weights, naming_columns
from featgrad.columns.extremes import Fences, Limits, some_rows
from featgrad.dataset.chunks import Accumulated
from featgrad.fitting import Choice, filtering, new_fit
from featgrad.math.targets import Encoding
from featgrad.math.tasks import RowsOf, ordered_labels
from featgrad.plan import folds_of
from featgrad.readers.arrays import group_keys

# Fitted attributes, which `finalize` sets and more rows take away.
_CHOSEN = frozenset(
    ("scores_", "ranking_", "learnability_", "score_", "n_features_", "path_", "stability_",
     "sizes_", "n_iter_", "history_", "discoveries_", "plan_", "certificate_", "warnings_",
     "_subsets", "_findings", "_place")
)  # fmt: skip


class AccumulatingMixin:
    """Rows in chunks: `partial_fit`, `merge` and `shard` add them, and `finalize` chooses."""

    # Of the selector.
    search: Any
    preprocess: str
    missing: str
    task: Any
    random_state: Any
    _check_parameters: Callable[[], None]
    _adopt: Callable[[Choice], None]

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, groups: Any = None
    ) -> Self:
        """Add rows to those seen; no features are chosen before `finalize` is called.

        All rows are kept as long as they have no more than 32 million entries; until then the
        features are those that `fit` would choose. Beyond, a random sample of that size stays and
        exact sums over all rows are kept: of all products up to some 1,100 features, of each
        feature with the target where there are more. Memory and the time to choose do not grow with
        the rows. What missing entries count as is settled when the sums begin. Where the penalty
        decides the size, the sample alone decides.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            The features.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target. The first call decides which task it is.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; a row of weight zero counts as absent.
        classes : array-like, default=None
            All classes, in the first call, where its y may lack some.
        groups : array-like of shape (n_rows,) or (n_rows, n_columns), default=None
            Labels of rows that belong together, in this call and others (see `fit`): in each call
            or in none.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from featgrad import FeatureGradientSelector
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> selector = FeatureGradientSelector(3, random_state=0)
        >>> for start in range(0, len(X), 100):
        ...     rows = slice(start, start + 100)
        ...     selector = selector.partial_fit(X[rows], y[rows], classes=[0, 1])
        >>> selector.finalize().get_support(indices=True)
        array([20, 21, 27])
        """
        self._check_parameters()
        state: Accumulated | None = self.__dict__.get("_state")
        X, y, sample_weight = on_host(X), ordered_labels(on_host(y)), on_host(sample_weight)
        with naming_columns():
            X, y = validate_data(self, X, y, reset=state is None, **MATRIX, multi_output=True)
        check_missing(X, self.missing)
        limits = Limits()
        limits.add(X)
        limits.check(getattr(self, "feature_names_in_", None))
        new_fit(self, "chunks", X.shape[1])
        weights = check_raw_weights(sample_weight, X.shape[0])
        keys = None if groups is None else group_keys(on_host(groups), X.shape[0])
        used = np.flatnonzero(weights)
        if len(used) == 0:
            return self
        if len(used) < len(weights):
            X, y, weights = X[used], y[used], weights[used]
            keys = None if keys is None else keys[used]
        if state is None:
            state = self._begin(X, y, classes, keys)
        elif classes is not None:
            state.encoding.check_classes(classes)
        if state.fences is not None:
            X, y = state.fences.columns(X), state.fences.target(y)
        state.add(X, y, weights, keys)
        self._adopt_state(state)
        return self

    def finalize(self) -> Self:
        """Choose features from the rows that `partial_fit` and `merge` have added.

        This is where the search runs, and takes its time. More rows can be added afterwards; the
        selector has to be finalized again then.

        Returns
        -------
        self
        """
        state = self._accumulated("this selector")
        fit = new_fit(self, "chunks", state.n_features)
        self._adopt(fit.choose(fit.of_chunks(state), state.n_rows))
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that another selector has seen; `finalize` then chooses from all of them.

        Selectors that still keep all their rows can always be merged. Beyond that they have to
        begin with `shard` of one selector, so that their sums are of the same things.

        Parameters
        ----------
        other : FeatureGradientSelector
            One with rows of the same features and target; it stays as it is.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from featgrad import FeatureGradientSelector
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> here = FeatureGradientSelector(3, random_state=0).partial_fit(X[:300], y[:300])
        >>> there = here.shard().partial_fit(X[300:], y[300:])
        >>> here.merge(there).finalize().get_support(indices=True)
        array([20, 21, 27])
        """
        state = self._accumulated("this selector")
        if not isinstance(other, AccumulatingMixin):
            raise ValueError(f"other is of type {type(other).__name__}: merge selectors.")
        names = [getattr(one, "feature_names_in_", None) for one in (self, other)]
        if not np.array_equal(*names):  # type: ignore[arg-type]
            raise ValueError("other has different feature_names_in_: merge selectors of one table.")
        state.merge(other._accumulated("other"))
        self._adopt_state(state)
        return self

    def shard(self) -> Self:
        """A selector without rows, for other rows of the same table, to be merged with this one.

        Returns
        -------
        FeatureGradientSelector
            It standardises columns as this one does, which has to have seen some rows for it.
        """
        state = self._accumulated("this selector")
        other: Self = clone(self)
        for name in ("n_features_in_", "feature_names_in_"):
            if name in self.__dict__:
                setattr(other, name, getattr(self, name))
        other._adopt_state(state.shard())
        return other

    def _begin(self, X: Any, y: Any, classes: Any, keys: Keys | None) -> Accumulated:
        rows = RowsOf(X.__getitem__, np.arange(X.shape[0]), keys)
        encoding, n_folds = (
            Encoding.of(y, self.task, classes, rows),
            folds_of(filtering(self.search).order),
        )
        rng = np.random.RandomState(check_random_state(self.random_state).randint(1 << 31))
        options = sparse.issparse(X), self.preprocess, n_folds, rng
        fences = None
        if self.preprocess == "robust":
            fences = Fences.of([some_rows(X, y)], encoding.task)
        return Accumulated(encoding, X.shape[1], *options, fences)

    def _accumulated(self, argument: str) -> Accumulated:
        if "_state" not in self.__dict__:
            check_is_fitted(self)
            raise ValueError(f"{argument} has not kept its rows: use partial_fit in place of fit.")
        state: Accumulated = self.__dict__["_state"]
        return state

    def _adopt_state(self, state: Accumulated) -> None:
        self._forget_choice()
        self._state = state
        self.task_ = state.encoding.task

    def _forget_rows(self) -> None:
        self.__dict__.pop("_state", None)

    def _forget_choice(self) -> None:
        for name in _CHOSEN:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return "_place" in self.__dict__

    def _check_chosen(self) -> None:
        """Refuse to go on where no features are chosen, or rows came after they were."""
        if "_state" in self.__dict__ and "_place" not in self.__dict__:
            raise NotFittedError(
                "Rows were added and no features chosen from them yet: call finalize() first."
            )
        check_is_fitted(self)
