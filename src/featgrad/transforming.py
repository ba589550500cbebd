"""What a fitted selector makes of other tables: the chosen columns, or all of them again."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import validate_data

from featgrad._support.array_api import keeps_its_place, namespace, placed_like
from featgrad.checks import check_missing
from featgrad.dataset.collections import is_collection, only_columns, without_rows


class TransformingMixin(SelectorMixin):  # type: ignore[misc]
    """`transform` and `inverse_transform` in the container, and on the device, of what is given."""

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
        if is_collection(X):
            validate_data(self, without_rows(X), reset=False, skip_check_array=True)
            return only_columns(X, self.get_support(indices=True))
        check_same_namespace(X, self, attribute="scores_", method="transform")
        if keeps_its_place(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            check_missing(X, self.missing)
            return namespace(X).take(X, placed_like(X, self.get_support(indices=True)), axis=1)
        container = _get_output_config("transform", estimator=self)["dense"]
        if container == "polars" and nw.dependencies.is_polars_dataframe(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            kept = nw.from_native(X)[:, self.get_support(indices=True).tolist()]
            return kept.to_native()
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
        if not keeps_its_place(X):
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

    def _get_support_mask(self) -> NDArray[np.bool_]:
        self._check_chosen()
        support = np.zeros(self.n_features_in_, bool)
        support[self._subsets[self._place].features] = True
        return support
