"""Constraints on the chosen set: groups, features to keep or to exclude, costs."""

import copy
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline

from featgrad._support import Flags, Floats, Indices
from featgrad.checks import feature_indices

# Names of features, where X has them.
Names = NDArray[Any] | None
_LISTS = (list, tuple, set, frozenset, np.ndarray)


class Constraints(NamedTuple):
    """Units that are chosen as one."""

    of_column: Indices  # the unit that each feature belongs to; -1 for excluded ones
    costs: Floats  # of all features of a unit: their number where no costs are given
    kept: Flags  # units that must be chosen


def read_constraints(
    n_features: int, names: Names, *, feature_groups: Any, keep: Any, exclude: Any, costs: Any
) -> Constraints:
    """Check the constraints and bring them to one form."""
    labels = group_labels(feature_groups, n_features, names)
    kept = np.zeros(n_features, bool)
    kept[features_in("keep", keep, n_features, names)] = True
    excluded = np.zeros(n_features, bool)
    excluded[features_in("exclude", exclude, n_features, names)] = True
    price = _costs(costs, n_features, names)
    # A group goes with its members: one that is kept keeps all, one that is excluded excludes all.
    count = int(labels.max()) + 1
    kept_units = np.bincount(labels, weights=kept, minlength=count) > 0
    excluded_units = np.bincount(labels, weights=excluded, minlength=count) > 0
    both = np.flatnonzero(kept_units & excluded_units)
    if len(both):
        feature = int(np.flatnonzero(labels == both[0])[0])
        raise ValueError(
            f"keep and exclude both name {_name(feature, names)} or a feature of its group: take "
            "it out of one of them."
        )
    if excluded_units.all():
        raise ValueError("exclude leaves no feature to choose from: exclude fewer.")
    units = np.flatnonzero(~excluded_units)
    place = np.full(count, -1)
    place[units] = np.arange(len(units))
    totals = np.bincount(labels, weights=price, minlength=count).astype(np.float64)
    return Constraints(place[labels], totals[units], kept_units[units])


def groups_by_origin(transformer: Any) -> NDArray[np.intp]:
    """Label each output column of a fitted transformer by the column that it comes from.

    Parameters
    ----------
    transformer : OneHotEncoder, ColumnTransformer or Pipeline
        Fitted. Columns that a OneHotEncoder makes of one variable share a label; all others get
        labels of their own. An encoder in a pipeline counts where later steps keep its columns or
        choose among them, as scalers and selectors do.

    Returns
    -------
    ndarray of shape (n_output_columns,)
        For `feature_groups` of `FeatureGradientSelector`.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from featgrad import groups_by_origin
    >>> encoder = OneHotEncoder().fit([["a", "x"], ["b", "y"], ["b", "z"]])
    >>> groups_by_origin(encoder)
    array([0, 0, 1, 1, 1])
    """
    origins = _origins(transformer)
    if origins is None:
        raise ValueError(
            f"transformer={transformer!r} is neither a fitted OneHotEncoder nor a fitted "
            "ColumnTransformer, nor a Pipeline with one: fit it first, or pass feature_groups as "
            "lists of columns."
        )
    return _numbered(np.array(origins))


def _origins(transformer: Any) -> list[str] | None:
    """A name for each output column, shared by those of one origin; None where that is unknown."""
    if hasattr(transformer, "output_indices_"):
        size = max(part.stop for part in transformer.output_indices_.values())
        origins = [f"column {i}" for i in range(size)]
        for name, part in transformer.output_indices_.items():
            inner = _origins(transformer.named_transformers_.get(name))
            if inner is not None:
                origins[part] = [f"{name} {origin}" for origin in inner]
        return origins
    if isinstance(transformer, Pipeline):
        return _origins_after([step for _, step in transformer.steps])
    if hasattr(transformer, "categories_") and hasattr(transformer, "feature_name_combiner"):
        # The encoder itself says which variable a column is made of, categories dropped or merged.
        named = copy.copy(transformer)
        named.feature_name_combiner = lambda feature, category: str(feature)
        return list(named.get_feature_names_out())
    return None


def _origins_after(steps: list[Any]) -> list[str] | None:
    """Names of the columns that come out of the last step."""
    origins: list[str] | None = None
    for step in steps:
        made = _origins(step)
        if made is not None or origins is None:
            origins = made
        elif hasattr(step, "get_support"):
            origins = [origins[column] for column in step.get_support(indices=True)]
        elif not (step in (None, "passthrough") or isinstance(step, OneToOneFeatureMixin)):
            origins = None
    return origins


def group_labels(groups: Any, n_features: int, names: Names) -> Indices:
    """The group of each feature, numbered; features in no group are groups of their own."""
    if groups is None:
        return np.arange(n_features)
    groups = list(groups.values() if isinstance(groups, Mapping) else groups)
    if groups and all(isinstance(group, _LISTS) for group in groups):
        return _labels_of_lists(groups, n_features, names)
    if len(groups) != n_features:
        raise ValueError(
            f"feature_groups has {len(groups)} labels but X has {n_features} features: give one "
            "label per feature, or lists of features, as {name: [features]} where they have names."
        )
    return _numbered(np.array(groups))


def _labels_of_lists(groups: list[Any], n_features: int, names: Names) -> Indices:
    labels = np.arange(n_features)
    seen = np.zeros(n_features, bool)
    for group in groups:
        members = features_in("feature_groups", group, n_features, names)
        if seen[members].any():
            twice = int(members[seen[members]][0])
            raise ValueError(
                f"feature_groups names {_name(twice, names)} in two groups: a feature belongs to "
                "one."
            )
        seen[members] = True
        if len(members):
            labels[members] = members[0]
    return _numbered(labels)


def _numbered(labels: NDArray[Any]) -> Indices:
    """Labels as numbers, in the order of their first features."""
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


def features_in(argument: str, given: Any, n_features: int, names: Names) -> Indices:
    """Column indices of features given by index, by name or as a boolean mask."""
    if given is None:
        return np.zeros(0, dtype=np.intp)
    if isinstance(given, (str, Integral)):
        given = [given]
    given = list(given)
    if len(given) == n_features and all(isinstance(item, (bool, np.bool_)) for item in given):
        return np.flatnonzero(given)
    return feature_indices(argument, given, n_features, names)


def _costs(costs: Any, n_features: int, names: Names) -> Floats:
    if costs is None:
        return np.ones(n_features)
    if isinstance(costs, Mapping):
        price = np.ones(n_features)
        price[feature_indices("costs", costs, n_features, names)] = list(costs.values())
    else:
        price = np.asarray(costs, dtype=np.float64)
    if price.shape != (n_features,):
        raise ValueError(
            f"costs has shape {price.shape} but X has {n_features} features: give one cost each."
        )
    if not np.all(np.isfinite(price) & (price > 0)):
        bad = int(np.flatnonzero(~(np.isfinite(price) & (price > 0)))[0])
        raise ValueError(
            f"costs of {_name(bad, names)} is {price[bad]:g}: costs must be positive numbers."
        )
    return price


def _name(feature: int, names: Names) -> str:
    return f"feature {feature}" if names is None else f"{str(names[feature])!r}"
