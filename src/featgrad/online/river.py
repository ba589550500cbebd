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

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        self._learn([x], [y])

    def learn_many(self, X: Any, y: Any) -> None:
        self._learn(X.to_dict(orient="records"), y.tolist())

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        names = self._chosen()
        return {name: value for name, value in x.items() if str(name) in names}

    def transform_many(self, X: Any) -> Any:
        names = self._chosen()
        return X[[name for name in X.columns if str(name) in names]]

    def _learn(self, rows: list[dict[Hashable, Any]], y: list[Any]) -> None:
        """Learn from the features that are numbers."""
        numbers = [
            {name: x[name] for name in x if isinstance(x[name], int | float | np.number)}
            for x in rows
        ]
        if any(numbers):
            targets = np.asarray(y, float) if self.classes is None else np.asarray(y)
            has_learned = self.selector.__sklearn_is_fitted__()
            classes = None if has_learned else self.classes
            self.selector.partial_fit(numbers, targets, classes=classes)

    def _chosen(self) -> set[str]:
        if not self.selector.__sklearn_is_fitted__():
            return set()
        return set(self.selector.feature_names_in_[self.selector.features_].tolist())
