"""The selector for streams."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Self
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import dense
from featgrad.checks import (
    MATRIX,
    MISSING,
    check_alike,
    check_missing,
    check_number,
    check_option,
    check_raw_weights,
    naming_columns,
    unchanged_by_errors,
)
from featgrad.columns.extremes import refuse_huge
from featgrad.estimates.diagnosis import with_targets
from featgrad.estimates.estimate import Estimate
from featgrad.math.targets import Encoding
from featgrad.math.tasks import RowsOf, Task, ordered_labels
from featgrad.online.history import Event, Timeline
from featgrad.online.state import OnlineState
from featgrad.options import HALF_LIFE
from featgrad.plan import SHORTEST_HALF_LIFE
from featgrad.readers.block import canonical
from featgrad.variables import TakesMatrices

_MATRIX = {**MATRIX, "dtype": (np.float64, np.float32)}


class OnlineFeatureSelector(SelectorMixin, TakesMatrices, BaseEstimator):  # type: ignore[misc]
    """Select features on a stream: which ones matter now.

    Rows are forgotten exponentially. Features are chosen by exact moments of a working set of
    columns; all other columns are priced by what they would have added to predictions, and enter
    the working set when they are worth more than noise. A chosen feature is replaced only by one
    that is worth more by several standard errors, which allow for dependent rows. Decisions are
    made after every 200 rows, more often at first, independently of the size of blocks; memory does
    not grow with the number of rows.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Number of features to choose.
    half_life : float, default=2000
        Number of rows after which a row counts half. Changes are followed within a few half-lives;
        longer half-lives find weaker features.
    task : {"auto", "regression", "binary", "multiclass", "multilabel", "ordinal"}, default="auto"
        Type of the target; "auto" finds it from the first rows, as `FeatureGradientSelector` does.
    alarm_rate : float, default=1e-6
        Largest expected number of false alarms per row while nothing changes, half of it for each
        kind. Rows may depend on earlier ones, as far as that shows within four half-lives.
    missing : {"error", "mean"}, default="error"
        Whether NaN in X is an error, or counts as the mean of its column in rows before.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen.
    feature_names_in_ : ndarray of str
        Their names, if X has any.
    n_rows_seen_ : int
        Number of rows seen.
    task_ : str
        Type of the target; its `reason` says why.
    features_ : ndarray of int
        Columns of the chosen features, rising.
    scores_ : ndarray of shape (n_features_in_,)
        Above 0 for chosen features: the explained fraction that would be lost without each. Those
        of the others give their order only.
    learnability_ : Estimate
        Explained fraction of the target's variance of recent rows, each predicted before it was
        learned from.
    history_ : list of Event
        Features that entered and left, and alarms: the last 10,000 events.
    alarms_ : list of Event
        Times at which predictions became worse ("alarm") or the set had shifted beyond chance
        ("shift"), and the features that left and entered.
    timeline_ : Timeline
        Sets, their scores and what they explain over time, thinned out as the stream gets longer;
        shown as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import OnlineFeatureSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((8000, 50))
    >>> y = np.where(np.arange(8000) < 4000, X[:, 3], X[:, 7]) + rng.standard_normal(8000)
    >>> selector = OnlineFeatureSelector(1, half_life=500)
    >>> selector.partial_fit(X[:4000], y[:4000]).get_support(indices=True)
    array([3])
    >>> selector.partial_fit(X[4000:], y[4000:]).get_support(indices=True)
    array([7])
    >>> print(selector.learnability_)
    49.1% (44.0 to 54.2%)
    >>> [alarm.left for alarm in selector.alarms_]
    [(3,)]
    """

    def __init__(
        self,
        n_features_to_select: int = 10,
        *,
        half_life: float = HALF_LIFE,
        task: str = "auto",
        alarm_rate: float = 1e-6,
        missing: str = "error",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.half_life = half_life
        self.task = task
        self.alarm_rate = alarm_rate
        self.missing = missing

    @unchanged_by_errors
    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then take rows in their order.

        Parameters
        ----------
        X, y
            As for `partial_fit`.

        Returns
        -------
        self
        """
        for name in ("_state", "_names", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y)

    @unchanged_by_errors
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take the next rows of the stream.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features) or list of dict
            The features. Rows as dicts from names to numbers may bring new features at any time;
            those that a row lacks are zero.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target. Its task is decided by the first call.
        classes : array-like, default=None
            All classes, in the first call, where its y may lack some.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows, on top of how recent these are; those of weight 0 are left out.

        Returns
        -------
        self
        """
        check_number("n_features_to_select", self.n_features_to_select, Integral, at_least=1)
        check_number("half_life", self.half_life, Real, at_least=1)
        check_number("alarm_rate", self.alarm_rate, Real, above=0)
        check_option("missing", self.missing, MISSING)
        state: OnlineState | None = self.__dict__.get("_state")
        rows = with_targets(X, y, sample_weight, is_chunk=True)
        if not rows:
            return self
        X, y, sample_weight = rows
        y, names = ordered_labels(y), dict[str, int]()
        if _are_dicts(X):
            X, names = self._from_dicts(X)
            y = np.asarray(y)
            check_consistent_length(X, y)
        else:
            if "_names" in self.__dict__:
                raise ValueError("X is a table but was a list of dicts: keep to one of them.")
            with naming_columns():
                X, y = validate_data(
                    self, X, y, reset=state is None, multi_output=True, y_numeric=False, **_MATRIX
                )
        check_missing(X, self.missing)
        weights = check_raw_weights(sample_weight, X.shape[0])
        if not np.all(weights):
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
            if not len(weights):
                return self
        if not 1e-15 <= weights.min() <= weights.max() <= 1e15:
            raise ValueError(
                f"sample_weight holds {weights.min():.3g} to {weights.max():.3g}: give weights of "
                "1e-15 to 1e15, or 0."
            )
        if state is None:
            rows = RowsOf(X.__getitem__, np.arange(X.shape[0]))
            encoding = Encoding.of(y, self.task, classes, rows)
            state = OnlineState(
                encoding,
                X.shape[1],
                sparse.issparse(X),
                self.n_features_to_select,
                float(self.half_life),
                float(self.alarm_rate),
            )
        elif classes is not None:
            state.encoding.check_classes(classes)
        # Rows in the container of the first ones, each entry once.
        X = canonical(sparse.csr_array(X)) if state.is_sparse else dense(X)
        outputs = state.encoding(y)
        columns = list(names) or getattr(self, "feature_names_in_", None)
        refuse_huge(X, columns)
        refuse_huge(outputs, None, "y")
        if len(names) > len(self.__dict__.get("_names", ())):
            self._names, self.n_features_in_ = names, len(names)
            self.feature_names_in_ = np.array(list(names), dtype=object)
        before = state.first_limits
        state.add(X, outputs, weights)
        self._state, first = state, state.first_limits
        if before is None and first is not None and (reason := first.out_of_range(columns)):
            warn(reason, stacklevel=3)  # no error: later rows may be larger
        return self

    def suggest_half_life(self, X: Any, y: Any) -> float:
        """The half-life with which rows are predicted best, each before it is learned from.

        Parameters
        ----------
        X, y
            Rows of the stream in their order, as for `partial_fit`; the more the better.

        Returns
        -------
        float
            One of 250, 500, 1000, ... up to the number of rows.
        """
        n_doublings = max(0, int(np.log2(max(len(y), 1) / SHORTEST_HALF_LIFE)))
        candidates = SHORTEST_HALF_LIFE * 2.0 ** np.arange(n_doublings + 1)
        errors = [
            clone(self).set_params(half_life=half_life).fit(X, y)._state.prequential.squared_error
            for half_life in candidates
        ]
        return float(candidates[np.argmin(errors)])

    def merge(self, other: Self) -> Self:
        """Add what another selector has seen of the same features, as if at the same time.

        The result is about that of one selector that has seen both streams: the last rows of both
        count the same, and `n_rows_seen_` adds up. Alarms of both are kept, at the rows of the
        stream where each was raised; `timeline_` and choices in `history_` are those of this
        selector, and go on from the sum of the rows.

        Parameters
        ----------
        other : OnlineFeatureSelector
            One with the same parameters; it stays as it is.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from featgrad import OnlineFeatureSelector
        >>> X = np.random.default_rng(0).standard_normal((1000, 50))
        >>> here = OnlineFeatureSelector(1).partial_fit(X[:500], X[:500, 3])
        >>> there = OnlineFeatureSelector(1).partial_fit(X[500:], X[500:, 3])
        >>> here.merge(there).n_rows_seen_
        1000
        """
        if not isinstance(other, OnlineFeatureSelector):
            raise ValueError(f"other is of type {type(other).__name__}: merge selectors.")
        states = self._seen(), other._seen()
        check_alike(self, other, (*self.get_params(), "n_features_in_", "feature_names_in_"))
        states[0].merge(states[1])
        return self

    def transform(self, X: Any) -> Any:
        """Keep the chosen features.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features) or list of dict
            Rows; of dicts, the chosen names that each one has are kept.

        Returns
        -------
        {array, sparse matrix, dataframe} or list of dict
        """
        if not _are_dicts(X):
            return super().transform(X)
        check_is_fitted(self)
        names = set(self.feature_names_in_[self.features_].tolist())
        return [{name: row[name] for name in row if str(name) in names} for row in X]

    @property
    def task_(self) -> Task:
        return self._seen().encoding.task

    @property
    def n_rows_seen_(self) -> int:
        return self._seen().n_rows

    @property
    def features_(self) -> Indices:
        return self._seen().current().features

    @property
    def scores_(self) -> Floats:
        return self._seen().current().scores()

    @property
    def learnability_(self) -> Estimate:
        state = self._seen().current()
        return state.prequential.learnability(len(state.features))

    @property
    def history_(self) -> list[Event]:
        return self._seen().history.events(self._state.features)

    @property
    def alarms_(self) -> list[Event]:
        return [event for event in self.history_ if event.kind != "choice"]

    @property
    def timeline_(self) -> Timeline:
        names = getattr(self, "feature_names_in_", None)
        decisions = self._seen().history.decisions
        return Timeline(decisions, self.alarms_, self.n_rows_seen_, names)

    def _seen(self) -> OnlineState:
        check_is_fitted(self)
        return self._state

    def _get_support_mask(self) -> Flags:
        features = self.features_
        return np.isin(np.arange(self.n_features_in_), features)

    def _from_dicts(self, rows: Any) -> tuple[Any, dict[str, int]]:
        """Rows as a sparse array, and the columns of all names so far."""
        names: dict[str, int] = self.__dict__.get("_names", {})
        if not names and "_state" in self.__dict__:
            raise ValueError("X is a list of dicts but was a table before: keep to one of them.")
        if any(str(name) not in names for row in rows for name in row):
            names = dict(names)
        indptr, indices, data = [0], [], []
        for row in rows:
            for name, value in row.items():
                indices.append(names.setdefault(str(name), len(names)))
                data.append(float(value))
            indptr.append(len(indices))
        if np.isinf(data).any() or (self.missing == "error" and np.isnan(data).any()):
            raise ValueError("X contains NaN or infinity: leave such features out of their dicts.")
        if not names:
            raise ValueError("X has no features: give at least one before the first empty dict.")
        shape = (len(indptr) - 1, len(names))
        return sparse.csr_array((data, indices, indptr), shape=shape), names

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = True
        return tags


def _are_dicts(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)
