"""The transformer that constructs features."""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from featgrad._support.array_api import dense, is_dask, mapped, namespace, on_host, without_rows
from featgrad.checks import (
    MATRIX,
    check_missing,
    check_number,
    check_option,
    check_source,
    feature_indices,
    naming_columns,
)
from featgrad.columns.extremes import in_range
from featgrad.construct.construction import WithConstructed, construct
from featgrad.construct.expressions import Expression, Given, built, with_columns
from featgrad.construct.features import ConstructedFeature, ConstructedFeatures
from featgrad.construct.operations import Operation, operations_named
from featgrad.dataset.base import Storage
from featgrad.dataset.checkpoint import NO_CHECKPOINT
from featgrad.dataset.memory import InMemory
from featgrad.dataset.reread import Reread
from featgrad.fitting import Choice, Fit, new_fit
from featgrad.plan import (
    CONSTRUCTION_SIZE,
    DENSE_ENTRIES,
    PARENTS,
    ROWS_PER_CONSTRUCTION,
    rows_to_price,
)
from featgrad.readers import Source
from featgrad.selector import FeatureGradientSelector
from featgrad.variables import TakesTables

# Parameters that are not those of a selector, and what is known of the selection.
_OWN = {"operations", "rounds", "parents"}
_RESULTS = (
    "concerns_",
    "learnability_",
    "n_features_",
    "path_",
    "plan_",
    "score_",
    "sizes_",
    "task_",
)


class FeatureGradientConstructor(TransformerMixin, TakesTables, BaseEstimator):  # type: ignore[misc]
    """Construct features as they are needed: columns that do not exist are priced by the gradient.

    The search of `FeatureGradientSelector` chooses among the given columns. Then every column that
    the operations could construct is priced, without being built, by its covariance with the
    residuals of cross-fitted models of the chosen ones. Columns worth more than the best of as many
    columns of noise are built and compete with the others; in the next round they can be parts.
    What is made of promising columns has to exceed fewer.

    All of it is repeated without each part of the rows that is held out: estimates are for new
    rows, and constructed columns are kept only if held-out rows are predicted better with them.

    Parameters
    ----------
    n_features_to_select : int or "auto", default="auto"
        How many columns to choose, given or constructed; may be more than are given.
    operations : sequence of str, default=("products", "hinges", "bent")
        What may be constructed: "products" ``(a - mean) * (b - mean)``, squares among them;
        "hinges" ``max(a - knot, 0)``; "bent" products of a hinge and a column; "logs", "roots" and
        "ratios"; of rows in their order "lags" ``a[t-7]`` and "rolling" means. Products are of
        columns as they are where these hold 0 and 1, have a mean near 0 or are sparse, and stay
        between the least and the largest one of the rows seen. Sparse columns have products only.
    rounds : int, default=3
        How often candidates are priced at most.
    parents : {"all", "any"}, default="all"
        Whether all pairs are priced in the first round, as far as that takes seconds, or those with
        one of the 1,000 most promising columns, as in later rounds.
    min_features_to_select, keep, exclude, cv, task, missing, random_state
        As in `FeatureGradientSelector`. Excluded columns are not used as parts.
    device : str or None, default=None
        Where dense columns are kept and priced: a device of torch such as "cuda"; None for the
        host, or for that of X.
    estimate : bool, default=True
        Whether to hold out rows. If False, all that is worth more than chance is kept, in a quarter
        of the time. "auto" holds them out anyway.

    Attributes
    ----------
    features_ : list
        The chosen features as expressions, given columns first.
    constructed_ : list
        Those that were constructed, with `name`, `operation`, `parts`, `price` (an estimate of the
        explained fraction that each would add, when it entered), `gain` (what held-out rows lose
        without it) and its standard `error`; shown as a table.
    entered_ : list
        All constructed columns that were worth more than chance, chosen or not.
    formula_ : str
        All chosen features in one line.
    verdict_ : Verdict or None
        Score of held-out rows `without` constructed columns and with, `constructed`:
        log-likelihood of classes by logistic models, correlation of numbers; `is_kept` says which
        was chosen. None where nothing was worth more than chance, or without `estimate`.
    selector_ : FeatureGradientSelector
        Fitted to the given columns and those of `entered_`, whose places `path_` has.
    n_features_, learnability_, score_, path_, sizes_, concerns_, plan_, task_
        As in `FeatureGradientSelector`, of construction and choice together.
    n_features_in_, feature_names_in_
        Number of features seen in `fit`, and their names where X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import FeatureGradientConstructor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 20))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(500)
    >>> constructor = FeatureGradientConstructor(random_state=0).fit(X, y)
    >>> constructor.get_feature_names_out().tolist()
    ['x2', 'x0 * x1']
    """

    def __init__(
        self,
        n_features_to_select: int | str = "auto",
        *,
        operations: Sequence[str | Operation] = ("products", "hinges", "bent"),
        rounds: int = 3,
        parents: str = "all",
        min_features_to_select: int = 0,
        keep: Any = None,
        exclude: Any = None,
        estimate: bool = True,
        cv: Any = None,
        task: str = "auto",
        missing: str = "mean",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.operations = operations
        self.rounds = rounds
        self.parents = parents
        self.min_features_to_select = min_features_to_select
        self.keep = keep
        self.exclude = exclude
        self.estimate = estimate
        self.cv = cv
        self.task = task
        self.missing = missing
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose features among those given and those that can be constructed.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            The features. Each column that a text or date of a dataframe is encoded as is a feature.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; a row of weight zero counts as absent.
        groups : array-like of shape (n_rows,) or (n_rows, n_columns), default=None
            Labels of rows that belong together: they are held out together.

        Returns
        -------
        self
        """
        self._check_parameters()
        storage, X, y = self._validated(X, y)
        if self._layout is not None and np.prod(X.shape) <= DENSE_ENTRIES:
            X = dense(X)  # numbers of tables can be curved
        X = X if storage == "dask" else _as_rows(X)
        storage = "memory" if sparse.issparse(X) else storage
        rows = in_range(X, self.selector_.preprocess), y, sample_weight, groups
        fit = self._new_fit(storage, X.shape[1])
        choice = self._choose(X, fit.of_rows(*rows), fit)
        if as_numbers := fit.as_numbers(choice):
            other = self._choose(X, as_numbers.of_rows(*rows), as_numbers)
            choice = choice if other.is_empty else other
        self._adopt(choice)
        return self

    def fit_source(self, source: Source) -> Self:
        """Choose features of rows that need not fit into memory.

        Features are constructed from a sample of rows of all folds: 131,072 up to 256 columns, as
        many as have 32 million entries of more, and at least 10,000. All rows choose among these
        and the given ones.

        Parameters
        ----------
        source : Source
            What `featgrad.open_source` makes of a file, frame or array. Each column that a text or
            date is encoded as is a feature.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from featgrad import FeatureGradientConstructor, open_source
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((500, 20))
        >>> y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(500)
        >>> source = open_source(X, target=y, block_rows=100)
        >>> FeatureGradientConstructor(2, random_state=0).fit_source(source).formula_
        'y ~ x2 + x0 * x1'
        """
        check_source(source)
        self._check_parameters()
        names = source.feature_names
        self._take_names(names if names is None else list(names), source.n_features)
        fit = self._new_fit("source", source.n_features)
        self._adopt(self._choose(None, fit.of_source(source, NO_CHECKPOINT), fit))
        return self

    def transform(self, X: Any) -> Any:
        """Build the chosen features.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            The features. Lags and rolling means take the rows in their order.

        Returns
        -------
        X_built : {ndarray, sparse matrix, dataframe} of shape (n_rows, n_features_)
            Sparse where X is; a Dask array, not yet computed, where X is a Dask collection.
        """
        check_is_fitted(self)
        if is_dask(X):
            validate_data(self, without_rows(X), reset=False, skip_check_array=True)
            return mapped(X, self._built, len(self.features_))
        if self._layout is None:
            with naming_columns():
                X = validate_data(self, on_host(X), reset=False, **MATRIX)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            X = self._matrix(X)
        return self._built(X) if self._encoder is None else dense(self._built(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the chosen features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the given columns, where X has had none.

        Returns
        -------
        ndarray of str
            Of constructed features what they are: ``age * bmi``, ``max(age - 52, 0)``.
        """
        check_is_fitted(self)
        names = self._names(input_features)
        return np.array([feature.text(names) for feature in self.features_], dtype=object)

    def _built(self, X: Any) -> Any:
        """The chosen features of a matrix."""
        check_missing(X, self.missing)
        return built(_as_rows(X), self.features_)

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense; some are those of the selector."""
        self._operations = operations_named(self.operations)
        check_number("rounds", self.rounds, Integral, at_least=0)
        check_option("parents", self.parents, ("all", "any"))
        if self.n_features_to_select != "auto":
            check_number("n_features_to_select", self.n_features_to_select, Integral, at_least=1)
        given = self.get_params(deep=False)
        given["random_state"] = check_random_state(self.random_state).randint(1 << 31)
        shared = {name: value for name, value in given.items() if name not in _OWN}
        self.selector_ = FeatureGradientSelector(**shared)
        self.selector_._check_parameters()

    def _new_fit(self, storage: str, n_columns: int) -> Fit:
        """A fit of the columns that were read."""
        if storage in ("source", "dask") and any(one.is_ordered for one in self._operations):
            raise ValueError(
                f"operations={self.operations!r} takes rows in their order, which only fit with "
                "rows in memory knows: leave lags and rolling means out."
            )
        # Columns that a variable is encoded as are features of their own.
        known = self.n_features_in_, getattr(self, "feature_names_in_", None)
        for name in ("keep", "exclude"):
            if (given := getattr(self, name)) is not None:
                own, variables = feature_indices(name, given, *known), self._variables
                own = own if variables is None else variables.columns(own)
                self.selector_.set_params(**{name: own})
        # The number may be larger than that of the given columns.
        anything = clone(self.selector_).set_params(n_features_to_select="auto")
        return new_fit(anything, storage, n_columns)

    def _choose(self, X: Any, rows: Storage, fit: Fit) -> Choice:
        """Construct, and choose among all columns; of X where it is in memory."""
        if isinstance(rows, Reread):
            some = rows.in_memory(rows_to_price(rows.n_features))
            X = some.X
        else:
            assert isinstance(rows, InMemory)
            some = rows
        X = some.X.resident() if fit.storage == "device" else X
        number, units = self.n_features_to_select, fit.budgets.units
        few = CONSTRUCTION_SIZE, max(1, rows.n_rows // ROWS_PER_CONSTRUCTION)
        size = min(few) if number == "auto" else int(number)
        divisions = [rows.whole.folds]
        if (number == "auto" or self.estimate) and rows.n_rows >= 2 * rows.n_folds:
            divisions += [split.training for split in rows.splits]
        most = PARENTS if self.parents == "any" else math.inf
        search = WithConstructed()
        among = X, some, divisions, units, size
        search.pools = construct(*among, self.rounds, most, self._operations)
        columns, names = search.pools.columns, self._names()
        search.n_given, with_all = rows.n_features, copy(self.selector_).set_params(search=search)
        if number != "auto":
            number = min(int(number), units.n_available + len(columns))
            with_all.set_params(n_features_to_select=number)
        names = [*names, *(column.text(names) for column in columns)]
        with_all.feature_names_in_ = np.array(names, dtype=object)
        some = some.with_matrix(with_columns(X, columns))
        if isinstance(rows, Reread):
            rows = rows.with_columns(partial(with_columns, columns=columns), some)
        else:
            rows = some
        return new_fit(with_all, fit.storage, len(names)).choose(rows)

    def _adopt(self, choice: Choice) -> None:
        selector, search, names = self.selector_, choice.plan.search, self._names()
        # What was constructed without some rows only says how well that does.
        own = next(iter(search.pools.of_division.values()))
        columns: list[Expression] = [*map(Given, range(search.n_given)), *own]
        subsets = [
            replace(one, scores=one.scores[: len(columns)]) for one in choice.outcome.subsets
        ]
        selector.n_features_in_ = len(columns)
        selector.feature_names_in_ = np.array([each.text(names) for each in columns], dtype=object)
        concerns = [
            [one for one in known if max(one.features, default=0) < len(columns)]
            for known in choice.concerns
        ]
        outcome = choice.outcome._replace(subsets=subsets)
        selector._adopt(choice._replace(outcome=outcome, concerns=concerns))
        for name in _RESULTS:
            setattr(self, name, getattr(selector, name))
        self.verdict_, self.entered_ = search.verdict, list(own)
        point = selector.path_[selector._place]
        self.features_ = [columns[i] for i in point.features]
        texts = [feature.text(names) for feature in self.features_]
        self.formula_ = f"y ~ {' + '.join(texts) or '1'}"
        self.constructed_ = ConstructedFeatures()
        gains = np.full((2, point.size), np.nan) if point.gains is None else point.gains
        for feature, text, *gain in zip(self.features_, texts, *gains, strict=True):
            if not isinstance(feature, Given):
                parts = [names[index] for index in sorted(feature.given())]
                numbers = own[feature].price, *map(float, gain)
                self.constructed_.append(ConstructedFeature(text, feature.kind, parts, *numbers))

    def _names(self, input_features: Any = None) -> Any:
        """Of given columns, as they are searched."""
        names = _check_feature_names_in(self, input_features)
        return names if self._layout is None else list(self._layout)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "features_")


def _as_rows(X: Any) -> Any:
    """An array of numbers, or CSR rows of the kind that is an array."""
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.result_type(X.dtype, np.float32))
    xp = namespace(X)
    return X if xp.isdtype(X.dtype, "real floating") else xp.astype(X, xp.float64)
