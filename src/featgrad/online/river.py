"""The selector for streams as a transformer of river."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

from featgrad.online.selector import OnlineFeatureSelector


class RiverFeatureSelector(base.SupervisedTransformer, base.MiniBatchTransformer):  # type: ignore[misc]
    """Keep the features that matter now, inside pipelines of river.

    Parameters
    ----------
    k : int, default=10
        Number of features to keep.
    half_life : float, default=2000
        Rows after which a row counts half.
    classes : list, default=None
        All classes of a target of classes; None for numbers and truth values.

    Attributes
    ----------
    selector : OnlineFeatureSelector
        What learns and chooses.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> from featgrad.online.river import RiverFeatureSelector
    >>> model = (
    ...     preprocessing.StandardScaler()
    ...     | RiverFeatureSelector(k=3)
    ...     | linear_model.LogisticRegression()
    ... )
    """

    def __init__(
        self, k: int = 10, half_life: float = 2000.0, classes: list[Any] | None = None
    ) -> None:
        self.k, self.half_life, self.classes = k, half_life, classes
        task = "regression" if classes is None else "multiclass"
        self.selector = OnlineFeatureSelector(k, half_life=half_life, task=task)
        self._has_learned = False
        self._features: Any = None
        self._names: frozenset[str] = frozenset()

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn from a row.

        Parameters
        ----------
        x : dict
            Features.
        y : object
            Target.
        """
        self._learn([_numbers(x)], [y])

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from rows.

        Parameters
        ----------
        X : DataFrame
            Features.
        y : Series
            Targets.
        """
        self._learn([_numbers(row) for row in X.to_dict(orient="records")], y.tolist())

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Keep the chosen features of a row.

        Parameters
        ----------
        x : dict
            Features.

        Returns
        -------
        dict
        """
        names = self._chosen()
        return {name: value for name, value in x.items() if str(name) in names}

    def transform_many(self, X: Any) -> Any:
        """Keep the chosen features of rows.

        Parameters
        ----------
        X : DataFrame
            Features.

        Returns
        -------
        DataFrame
        """
        names = self._chosen()
        return X[[name for name in X.columns if str(name) in names]]

    def _learn(self, rows: list[dict[str, float]], y: list[Any]) -> None:
        if any(rows):
            targets = np.asarray(y, float) if self.classes is None else np.asarray(y)
            classes = None if self._has_learned else self.classes
            self.selector.partial_fit(rows, targets, classes=classes)
            self._has_learned = True

    def _chosen(self) -> frozenset[str]:
        """Names of the chosen features, gathered again when the set has changed."""
        if not self._has_learned:
            return frozenset()
        features = self.selector.features_
        if features is not self._features:
            self._features = features
            self._names = frozenset(self.selector.feature_names_in_[features].tolist())
        return self._names


def _numbers(x: dict[Hashable, Any]) -> dict[str, float]:
    """Features that are numbers."""
    return {str(name): float(v) for name, v in x.items() if isinstance(v, int | float | np.number)}
