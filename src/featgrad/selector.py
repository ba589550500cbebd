"""The scikit-learn selector."""

import copy
import os
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self
from warnings import warn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import config_context  # type: ignore[attr-defined]
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from featgrad._support.array_api import (
    is_dask,
    mixed_frame,
    namespace,
    on_host,
    only_columns,
    placed_like,
    stays_in_library,
    without_rows,
)
from featgrad._support.sklearn_compat import (
    CallbackSupportMixin,
    check_same_namespace,
    with_callbacks,
)
from featgrad.checks import (
    MISSING,
    PREPROCESS,
    check_alike,
    check_missing,
    check_number,
    check_option,
    check_raw_weights,
    check_source,
    unchanged_by_errors,
)
from featgrad.columns.extremes import Fences, Limits, clipped, in_range
from featgrad.dataset.checkpoint import open_checkpoint
from featgrad.dataset.chunks import Accumulated
from featgrad.estimates.concerns import UNWARNED, shared_labels
from featgrad.estimates.diagnosis import DataWarning, with_names, with_targets
from featgrad.estimates.estimate import FeatureGains, SelectionPath
from featgrad.fitting import Choice, new_fit
from featgrad.math.targets import Encoding
from featgrad.math.tasks import RowsOf, ordered_labels
from featgrad.options import TASKS
from featgrad.readers import Source
from featgrad.readers.block import group_keys
from featgrad.report.text import as_html
from featgrad.search.base import Search, Step
from featgrad.variables import TakesTables


class FeatureGradientSelector(CallbackSupportMixin, SelectorMixin, TakesTables, BaseEstimator):  # type: ignore[misc]
    """Select the features that a target can best be predicted from, by gradient descent.

    A mask over the features is relaxed to numbers between 0 and 1 and moved along the gradient of
    an estimate of how much of the target a linear model on the masked features could explain
    (Feature Gradients, Sheth & Fusi 2020; Kong & Valiant 2018). Time is linear in rows and in
    features, memory beyond X is small, sparse X stays sparse. For a given number of features the
    mask descends on a working set, and all other columns are priced by the gradient until none is
    worth more than chance: `plan_` says which search ran and why, `certificate_` what it left out.

    `fit` and `fit_source` choose features at once. `partial_fit` and `merge` only add rows;
    `finalize` then chooses from all of them, and sets the attributes that depend on the choice.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        How many features to choose: a number, a fraction of all, or "auto" for the smallest number
        that predicts held-out rows about as well as any (its correlation with the target is lower
        by about 1%, or one standard error if that is less), which is 0 where no linear model
        predicts them better than noise would. The set of a given number is searched for as such,
        and is not the head of a longer list.
    min_features_to_select : int, default=0
        Fewest features that "auto" may choose. With 0, a fit warns if none is chosen; with 1 the
        next step of a pipeline always gets a column.
    path_sizes : array-like of int or None, default=None
        Further sizes to find the best sets for in the same fit, see `path_` and `at`. "auto"
        chooses among them, or among all sizes up to 10 and some up to 300, at most half as many as
        there are rows; large ones are tried if smaller ones leave something.
    feature_groups : list of lists, dict or array-like of shape (n_features,), default=None
        Features that are chosen together or not at all: lists of column indices or names, the
        same with names as ``{name: [features]}``, or one label per feature. Groups are never split,
        so fewer features than asked for may be chosen.
    keep : array-like, default=None
        Features, by index or name, that must be chosen; they count towards the number.
    exclude : array-like, default=None
        Features that must not be chosen.
    costs : array-like of shape (n_features,) or dict, default=None
        Cost of each feature, or of some by index or name, the others costing 1. Needs `max_cost`.
    max_cost : float or None, default=None
        Largest total cost of the chosen features, in place of `n_features_to_select`.
    n_resamples : int, default=0
        How often the search is repeated on a random half of the rows, an even number: each half
        is used together with its complement. See `stability_`.
    estimate : bool, default=True
        Whether to estimate what the chosen features explain on rows that had no part in choosing
        them. The search is repeated without each of four parts of the rows, so that a fit takes two
        to eight times as long; pass False inside cross-validation. "auto" needs these searches
        anyway.
    cv : int, cross-validation splitter or iterable, default=None
        Which rows are held out to estimate what features explain and, with "auto", to choose how
        many: a splitter of scikit-learn, such as ``TimeSeriesSplit()`` for rows in the order of
        time, or what its `check_cv` takes. The search is repeated for each split. Rows that a split
        holds out in one run of neighbours may depend on each other. None holds out four random
        parts of the rows, or of the groups given to `fit`. `partial_fit` takes none.
    search : "auto" or Search, default="auto"
        How to search, with the parameters of that search: ``WorkingSet()`` descends on some hundred
        columns and prices all others; ``MiniBatch()`` descends on all columns, batch of rows by
        batch, for sets too large for that, and with a `penalty` is the published search;
        ``Knockoffs(fdr=0.1)`` chooses as many features as keep a false discovery rate. See `plan_`.
    task : {"auto", "regression", "binary", "multiclass", "multilabel", "ordinal"}, default="auto"
        Type of the target. "auto" takes two values, strings and booleans for classes and ordered
        categories (of pandas, or an Enum of polars) for "ordinal", in their declared order. Whole
        numbers with negatives, gaps or more than 20 values are numbers, others classes, unless
        held-out rows are predicted better the other way; `plan_` says why. Two classes count the
        same in the search, however rare one of them is (not with a penalty, as in the paper).
    preprocess : {"zscore", "center", "robust"}, default="zscore"
        Whether features are standardised or only centred. "robust" first clips features, and
        targets that are numbers, three interquartile ranges outside their quartiles: for outliers
        and fill values. Quartiles are those of the nonzero entries of a sample of rows, or of the
        first chunk in `partial_fit`. Estimates are then about the clipped target.
    missing : {"mean", "error"}, default="mean"
        Whether a missing value counts as the mean of its column or is an error. If missingness
        itself predicts the target better than chance, an indicator of it is part of the feature.
    device : str or None, default=None
        Where to `fit`: None where X is, or a device of torch such as "cuda", to which an X on the
        host is copied: whole if it fits into half of the free memory, else in blocks. Learnability
        is then estimated from 10,000 rows at most. Needs torch.
    random_state : int, RandomState instance or None, default=None
        Seed of the random order in which rows are visited.
    verbose : int, default=0
        Print every `verbose`-th step.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features_in_,)
        Above 0 for chosen features: the explained fraction that is lost without each. For others,
        the fraction that each would add, to first order, shifted to be at most 0. `MiniBatch` gives
        the logits of the mask.
    ranking_ : ndarray of shape (n_features_in_,)
        1 for the feature with the highest score.
    learnability_ : Estimate or None
        Fraction of the target's variance that a linear model on the chosen features explains, on
        rows that had no part in choosing them (nor, with "auto", their number), with its interval.
        None without `estimate`. `MiniBatch` and `Knockoffs` are not repeated: their estimate is
        in-sample, hence optimistic, and marked as such.
    score_ : Score or None
        Area under the curve (classes) or R^2 (numbers) of a ridge model on the chosen features, on
        the same held-out rows.
    n_features_ : int
        How many features were chosen; with "auto" possibly none.
    path_ : SelectionPath
        Size, features (column indices), learnability and score of the best sets found, by rising
        size: those of `path_sizes` and the chosen one. ``print(path_)`` shows which features enter
        and leave from one size to the next.
    sizes_ : Sizes or None
        With "auto": the smallest set that suffices, the best one, and the largest size that was
        tried if that is the best; shown as a table.
    gains_ : FeatureGains or None
        Explained fraction that held-out rows lose without each chosen feature, or its group, with
        standard errors; shown as a table. None without `estimate`.
    stability_ : Stability or None
        How often each feature is chosen from half the rows, with an index of agreement and a
        bound on how many of the features chosen often are false.
    discoveries_ : Discoveries or None
        With `Knockoffs`: how much more each feature matters than its knockoff, how many knockoffs
        choose it, p-values if none is chosen, and which features keep the rate exactly.
    plan_ : Plan
        Which search ran, which limits decided it, and what held-out rows gave; ``print(plan_)``.
    certificate_ : Certificate or None
        An estimate of what the best column not chosen would add, compared with what noise would
        add and with what is lost without the worst chosen one; None if columns are not priced.
    concerns_ : list of Concern
        What to check before the choice is trusted, as the command and reports show it: features
        that may hold the target, near-copies, drift, rows that depend on each other, outliers,
        relations that are not linear, nothing to learn. `fit` also raises each as a `DataWarning`,
        except drift, as the order of rows may mean nothing, and what `learnability_` itself shows.
        With ``estimate=False`` rows are not examined.
    n_iter_ : int
        Steps taken.
    history_ : dict of str to ndarray
        "objective", "explained" and "size", the mask summed over features, at each step.
    task_ : str
        Type of the target; its `reason` says why.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import FeatureGradientSelector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = FeatureGradientSelector(n_features_to_select=3, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out()
    array(['worst radius', 'worst texture', 'worst concave points'],
          dtype=object)
    """

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        min_features_to_select: int = 0,
        path_sizes: ArrayLike | None = None,
        feature_groups: Any = None,
        keep: Any = None,
        exclude: Any = None,
        costs: Any = None,
        max_cost: float | None = None,
        n_resamples: int = 0,
        estimate: bool = True,
        cv: Any = None,
        search: str | Search = "auto",
        task: str = "auto",
        preprocess: str = "zscore",
        missing: str = "mean",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.min_features_to_select = min_features_to_select
        self.path_sizes = path_sizes
        self.feature_groups = feature_groups
        self.keep = keep
        self.exclude = exclude
        self.costs = costs
        self.max_cost = max_cost
        self.n_resamples = n_resamples
        self.estimate = estimate
        self.cv = cv
        self.search = search
        self.task = task
        self.preprocess = preprocess
        self.missing = missing
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose features.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            The features. A dataframe (pandas, polars, Arrow) may hold numbers, text or categories,
            booleans, dates and times: each of its columns is one feature, however it is encoded,
            and identifiers are never chosen. A Dask array (of NumPy or SciPy blocks) or dataframe
            of numbers is visited partition by partition; the result is that of `fit_source`.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target. It may come from another array library or device than X; for a Dask X it is
            a Dask collection with the same partitions, and so is `sample_weight`.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; a row of weight zero counts as absent.
        groups : array-like of shape (n_rows,) or (n_rows, n_columns), default=None
            Labels of rows that belong together, such as those of one patient: they are held out
            together, and estimates are for rows of new groups. Needed wherever rows are not
            independent of each other.

        Returns
        -------
        self
        """
        self._check_parameters()
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        X, y, sample_weight, groups = with_targets(X, y, sample_weight, groups)
        given = X if stays_in_library(X) and not is_dask(X) else None
        storage, X, y = self._validated(X, y)
        names = self._column_names
        if self.preprocess == "robust" and storage != "dask":
            X, y = clipped(X, y, on_host(sample_weight), self.task)
        if storage == "memory":
            X = in_range(X, self.preprocess, names)
        fit = new_fit(self, storage, X.shape[1], context, self._variables)
        rows = X, y, sample_weight, groups
        known_X = X if storage == "memory" and sample_weight is None else None
        choice = fit.choose(fit.of_rows(*rows), X=known_X)
        if as_numbers := fit.as_numbers(choice):
            other = as_numbers.choose(as_numbers.of_rows(*rows), X=known_X)
            choice = choice if other.is_empty else other
        names = getattr(self, "feature_names_in_", None)
        if self.estimate and storage == "memory" and names is not None:
            labels = shared_labels(X, names, choice.plan, self._variables)
            choice = choice._replace(concerns=[[*labels, *own] for own in choice.concerns])
        self._adopt(choice, given)
        self.__dict__.pop("_state", None)
        context.call_on_fit_task_end(estimator=self)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_source(
        self, source: Source, checkpoint: str | os.PathLike[str] | None = None, client: Any = None
    ) -> Self:
        """Choose features from rows that need not fit into memory.

        The source is read block by block: twice up to some 1,100 features, once for the target and
        once for all moments; beyond, twice, twice for each of up to three rounds of pricing and
        twice more for estimates. There "auto" reads it once more to compare sizes and, where it
        goes on to sizes above 30 and above 100, eight times more for each; `MiniBatch` reads it
        `n_epochs` + 4 times. Once more where values are missing, and where a target of whole
        numbers may be classes. In memory are one block and the next, a few numbers per feature and
        the moments of a few hundred features, however many rows there are. The sets found are about
        those of `fit`; copies of a row count as rows of their own, and learnability is estimated
        from some 10,000 rows at most.

        Parameters
        ----------
        source : Source
            What `featgrad.open_source` makes of a file, frame or array, with its
            targets and, if it has them, weights of the rows.
        checkpoint : str or path, default=None
            A file to which the state of the fit is written every half minute. A fit that was
            killed goes on from it when it is started again with the same parameters and source,
            and chooses the same features. It is removed at the end. It holds pickles: name one in
            a folder that only you can write to.
        client : distributed.Client, default=None
            Lets the workers of this Dask cluster read the source: each some row groups of its
            Parquet files, which have the same paths there. The features are the same.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from featgrad import FeatureGradientSelector, open_source
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> source = open_source(X, target=y, block_rows=100)
        >>> selector = FeatureGradientSelector(3, random_state=0).fit_source(source)
        >>> selector.get_support(indices=True)
        array([20, 21, 27])
        """
        self._check_parameters()
        if client is not None and checkpoint is not None:
            raise ValueError(
                f"checkpoint={os.fspath(checkpoint)!r} is for a fit in one process: leave out "
                "checkpoint or client."
            )
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        check_source(source)
        self._take_names(source.feature_names, source.n_features)
        storage = "source" if client is None else "dask"
        fit = new_fit(self, storage, source.n_features, context, self._variables)
        with (
            open_checkpoint(checkpoint, self.get_params(deep=False), source) as passes,
            nullcontext() if client is None else client.as_current(),
        ):
            fit = replace(fit, rng=passes.random(fit.rng))
            self._adopt(fit.choose(fit.of_source(source, passes)))
            passes.remove()
        self.__dict__.pop("_state", None)
        context.call_on_fit_task_end(estimator=self)
        return self

    @unchanged_by_errors
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
        X, y, sample_weight, groups
            As for `fit`, on the host. The first call decides which task y is; groups, the same in
            this call and others, are given in each call or in none.
        classes : array-like, default=None
            All classes, in the first call, where its y may lack some.

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
        rows = with_targets(X, y, sample_weight, groups, is_chunk=True)
        if not rows:
            return self
        X, y, sample_weight, groups = rows
        X, y, sample_weight = on_host(X), ordered_labels(on_host(y)), on_host(sample_weight)
        X, y = self._as_matrix(X, y, reset=state is None)
        check_missing(X, self.missing)
        fit = new_fit(self, "chunks", X.shape[1], variables=self._variables)
        weights = check_raw_weights(sample_weight, X.shape[0])
        keys = None if groups is None else group_keys(on_host(groups), X.shape[0])
        used = np.flatnonzero(weights)
        if len(used) == 0:
            return self
        if len(used) < len(weights):
            X, y, weights = X[used], y[used], weights[used]
            keys = None if keys is None else keys[used]
        if state is None:
            rows = RowsOf(X.__getitem__, np.arange(X.shape[0]), keys)
            encoding = Encoding.of(y, self.task, classes, rows)
            is_robust = self.preprocess == "robust"
            fences = Fences.of(X, y, encoding.task) if is_robust else None
            options = sparse.issparse(X), self.preprocess, fit.n_folds
            rng = np.random.RandomState(fit.rng.randint(1 << 31))
            state = Accumulated(encoding, X.shape[1], *options, rng, fences)
        elif classes is not None:
            state.encoding.check_classes(classes)
        if state.fences is not None:
            X, y = state.fences.columns(X), state.fences.target(y)
        Limits.of(X).refuse(getattr(self, "feature_names_in_", None))
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
        fit = new_fit(self, "chunks", state.n_features, variables=self._variables)
        names = getattr(self, "feature_names_in_", None)
        self._adopt(fit.choose(fit.of_chunks(state, names), state.n_rows))
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
        if not isinstance(other, FeatureGradientSelector):
            raise ValueError(f"other is of type {type(other).__name__}: merge selectors.")
        check_alike(self, other, ("n_features_in_", "feature_names_in_"))
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
        for name in ("n_features_in_", "feature_names_in_", "_layout", "_encoder"):
            if name in self.__dict__:
                setattr(other, name, getattr(self, name))
        other._adopt_state(state.shard())
        return other

    def at(self, size: int) -> Self:
        """The selector for another size of its path, without fitting again.

        Parameters
        ----------
        size : int
            One of the sizes in `path_`.

        Returns
        -------
        FeatureGradientSelector
            Fitted; this one stays as it is.
        """
        self._check_chosen()
        sizes = [point.size for point in self.path_]
        if size not in sizes:
            raise ValueError(
                f"size={size!r} is not on the path, which has {sizes}: choose one of these, or fit "
                "with other path_sizes."
            )
        other = copy.copy(self)
        other._take(sizes.index(size), self.scores_)
        return other

    def transform(self, X: Any) -> Any:
        """Reduce X to the chosen features.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            The features.

        Returns
        -------
        X_reduced : {ndarray, sparse matrix, dataframe} of shape (n_rows, n_features_)
            A dataframe, each column with its own type, where `set_output` asks for one; an array
            on an accelerator where X is one; a Dask collection, not yet computed, where X is one.
        """
        self._check_chosen()
        if is_dask(X):
            validate_data(self, without_rows(X), reset=False, skip_check_array=True)
            return only_columns(X, self.get_support(indices=True))
        check_same_namespace(X, self, attribute="scores_", method="transform")
        if stays_in_library(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            check_missing(X, self.missing)
            return namespace(X).take(X, placed_like(X, self.get_support(indices=True)), axis=1)
        container = _get_output_config("transform", estimator=self)["dense"]
        is_polars = container == "polars" and nw.dependencies.is_polars_dataframe(X)
        # An array would make one type of all columns.
        if is_polars or (container == "default" and mixed_frame(X) is not None):
            validate_data(self, X, reset=False, skip_check_array=True)
            kept = nw.from_native(X)[:, self.get_support(indices=True).tolist()]
            return kept.to_native()
        with config_context(array_api_dispatch=False):  # which scikit-learn 1.6 errs with
            return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Put the chosen features back into their places.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features_)
            The chosen features.

        Returns
        -------
        X_original : {ndarray, sparse matrix} of shape (n_rows, n_features_in_)
            With zeros in place of the features that were not chosen.
        """
        self._check_chosen()
        check_same_namespace(X, self, attribute="scores_", method="inverse_transform")
        if not stays_in_library(X):
            return super().inverse_transform(X)
        if X.ndim != 2 or X.shape[1] != self.n_features_:
            raise ValueError(
                f"X has shape {tuple(X.shape)} but {self.n_features_} features were chosen: pass "
                "what transform gives."
            )
        xp, support = namespace(X), self.get_support()
        padded = xp.concat([X, xp.zeros_like(X[:, :1])], axis=1)
        places = np.where(support, np.cumsum(support) - 1, self.n_features_)
        return xp.take(padded, placed_like(X, places), axis=1)

    def _adopt(self, choice: Choice, given: Any = None) -> None:
        self.task_ = choice.task
        self.plan_ = replace(choice.plan, decisions=(*choice.plan.decisions, *self._columns_read()))
        names = getattr(self, "feature_names_in_", None)
        self.path_ = SelectionPath(choice.path, names)
        self.sizes_ = choice.sizes and choice.sizes._replace(names=names)
        stability, discoveries = choice.outcome.stability, choice.outcome.discoveries
        self.stability_ = None if stability is None else replace(stability, names=names)
        self.discoveries_ = None if discoveries is None else replace(discoveries, names=names)
        self._subsets, self._concerns = choice.outcome.subsets, choice.concerns
        self._take(choice.outcome.chosen, given)
        for concern in self.concerns_:
            if concern.kind not in UNWARNED:
                warn(str(concern), DataWarning, stacklevel=4)

    def _take(self, place: int, given: Any) -> None:
        """Make a set of the path the chosen one; its arrays live where the given one does."""
        subset, point = self._subsets[place], self.path_[place]
        # Best scores first; constant columns come last and equal scores in column order.
        order = np.argsort(-subset.scores, kind="stable")
        ranking = np.empty(len(order), dtype=np.intp)
        ranking[order] = np.arange(1, len(order) + 1)
        self.scores_, self.ranking_ = placed_like(given, subset.scores), placed_like(given, ranking)
        self._place = place
        self.n_features_ = point.size
        names = getattr(self, "feature_names_in_", None)
        self.concerns_ = [with_names(concern, names) for concern in self._concerns[place]]
        self.learnability_, self.score_ = point.learnability, point.score
        self.gains_ = point.gains and FeatureGains(point.features, *point.gains, names)
        self.certificate_ = subset.certificate
        self.n_iter_ = len(subset.steps)
        columns = np.array(subset.steps, dtype=np.float64).reshape(-1, len(Step._fields))
        self.history_ = dict(zip(Step._fields, columns.T, strict=True))

    def _accumulated(self, argument: str) -> Accumulated:
        if "_state" not in self.__dict__:
            check_is_fitted(self)
            raise ValueError(f"{argument} has not kept its rows: use partial_fit in place of fit.")
        state: Accumulated = self.__dict__["_state"]
        return state

    def _adopt_state(self, state: Accumulated) -> None:
        """Rows that no features are chosen from yet."""
        kept = ("n_features_in_", "feature_names_in_")
        for name in [name for name in self.__dict__ if name.endswith("_") and name not in kept]:
            delattr(self, name)
        self.__dict__.pop("_place", None)
        self._state, self.task_ = state, state.encoding.task

    def __sklearn_is_fitted__(self) -> bool:
        return "_place" in self.__dict__

    def _check_chosen(self) -> None:
        """Refuse to go on where no features are chosen, or rows came after they were."""
        if "_state" in self.__dict__ and "_place" not in self.__dict__:
            raise NotFittedError(
                "Rows were added and no features chosen from them yet: call finalize() first."
            )
        check_is_fitted(self)

    def _check_parameters(self) -> None:
        if isinstance(self.search, Search):
            self.search.check()
        elif not (isinstance(self.search, str) and self.search == "auto"):
            raise ValueError(
                f"search={self.search!r} is unknown: use 'auto' or an object such as WorkingSet(), "
                "MiniBatch() or Knockoffs()."
            )
        check_option("missing", self.missing, MISSING)
        check_option("preprocess", self.preprocess, PREPROCESS)
        check_option("task", self.task, TASKS)
        for name in ("verbose", "min_features_to_select", "n_resamples"):
            check_number(name, getattr(self, name), Integral, at_least=0)
        if self.n_resamples % 2:
            raise ValueError(
                f"n_resamples={self.n_resamples} cannot be used: halves come in complementary "
                "pairs, give an even number."
            )
        if self.max_cost is not None:
            check_number("max_cost", self.max_cost, Real, above=0)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        self._check_chosen()
        support = np.zeros(self.n_features_in_, bool)
        support[self._subsets[self._place].features] = True
        return support

    def _html_repr(self) -> str:
        """scikit-learn's diagram and, once fitted, what was chosen."""
        diagram: str = super()._html_repr()
        return diagram + as_html(self) if self.__sklearn_is_fitted__() else diagram

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags
