"""X as it is given, the matrix that is searched, and the variables that its columns stand for."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import _check_y, check_consistent_length, check_X_y, validate_data

from featgrad._support.array_api import is_dask, mixed_frame, on_accelerator, on_host, without_rows
from featgrad._support.wording import counted
from featgrad.checks import (
    MATRIX,
    check_missing,
    check_on_accelerator,
    naming_columns,
    refuse_missing,
)
from featgrad.columns.sums import has_missing
from featgrad.math.tasks import ordered_labels
from featgrad.plan import PlanLine, pays_on_device
from featgrad.readers.columns import Layout
from featgrad.readers.missing import EncodedRows, append_flags, with_flags
from featgrad.search.units import Variables


class TakesMatrices:
    """What scikit-learn has to know of estimators whose X may be sparse, with missing values."""

    missing: str

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class TakesTables(TakesMatrices):
    """An estimator whose X may be a matrix or a table."""

    device: str | None
    keep: Any
    exclude: Any
    # What the columns of a matrix stand for, where that is not themselves, and what encodes frames.
    _layout: Layout | None = None
    _encoder: Any = None

    def _validated(self, X: Any, y: Any) -> tuple[str, Any, Any]:
        """Where to fit; X as it is where it stays, and as scikit-learn takes it on the host."""
        self._layout, self._encoder = None, None
        if is_dask(X):
            validate_data(self, without_rows(X), skip_check_array=True)
            return "dask", X, y
        y = ordered_labels(on_host(y))
        if on_accelerator(X) and (self.device is not None or pays_on_device(X.shape)):
            validate_data(self, X, skip_check_array=True)
            check_on_accelerator(X)
            check_consistent_length(X, y)
            return "device", X, _check_y(y, multi_output=True)
        options: dict[str, Any] = {"ensure_min_samples": 2}
        if self.device is not None:  # which looks at the entries itself
            options["ensure_all_finite"] = False
        X, y = self._as_matrix(X, y, reset=True, **options)
        if self.device is not None:
            return "device", X, y
        check_missing(X, self.missing)
        if self._layout is None and has_missing(X):
            found = with_flags(X, y, self._column_names)
            if found is not None:
                X, self._layout = found
        return "memory", X, y

    def _as_matrix(self, X: Any, y: Any, *, reset: bool, **options: Any) -> tuple[Any, Any]:
        """Columns of numbers; of a data frame that has others, those that its columns stand for."""
        options = {**MATRIX, "multi_output": True, **options}
        if isinstance(X, EncodedRows):
            self._take_names(X.layout, X.X.shape[1])
            X, y = check_X_y(X.X, y, **options)
            return X, y
        frame = mixed_frame(X)
        if frame is None:
            with naming_columns():
                X, y = validate_data(self, on_host(X), y, reset=reset, **options)
            return X, y
        validate_data(self, X, reset=reset, skip_check_array=True)
        check_consistent_length(X, y)
        if self.missing == "error" and np.any(frame.null_count().to_numpy()):
            refuse_missing()
        if reset:
            # Imported where it is needed, with the compiler.
            from featgrad.readers.tables import FrameEncoder

            names = [set(_named(one, frame.columns)) for one in (self.keep, self.exclude)]
            self._encoder = FrameEncoder(frame, y if self.missing == "mean" else None, *names)
            self._layout = self._encoder.layout
        X, y = check_X_y(self._encoder.encode(frame), y, **options)
        return X, y

    def _matrix(self, X: Any) -> Any:
        """The columns that were searched, of rows like those that were given to `fit`."""
        if isinstance(X, EncodedRows):
            return X.X
        if self._encoder is not None:
            return self._encoder.encode(mixed_frame(X))
        X = check_array(on_host(X), accept_sparse="csr", ensure_all_finite=False)
        variables = self._variables
        if variables is None or X.shape[1] == len(variables.of_column):
            return X
        return append_flags(X, variables.of_column[variables.count :])

    def _take_names(self, names: Sequence[Any] | None, n_columns: int) -> None:
        """Of columns whose rows are not looked at here, or are encoded already."""
        self.__dict__.pop("feature_names_in_", None)
        self._layout, self._encoder = names if isinstance(names, Layout) else None, None
        known = names if self._layout is None else self._layout.variables
        self.n_features_in_ = n_columns if known is None else len(known)
        if known is not None:
            self.feature_names_in_ = np.array(list(known), dtype=object)

    @property
    def _column_names(self) -> Any:
        """Of the columns that are searched, where they have names."""
        names = getattr(self, "feature_names_in_", None)
        return names if self._layout is None else self._layout

    @property
    def _variables(self) -> Variables | None:
        layout = self._layout
        if layout is None or layout.groups is None:
            return None
        return Variables(layout.groups, len(layout.variables))

    def _columns_read(self) -> list[PlanLine]:
        """What was made of the columns of a table."""
        layout, variables = self._layout, self._variables
        if layout is None or variables is None:
            return []
        encoded = f"{counted(variables.count, 'variable')} as {counted(len(layout), 'column')}"
        remarks = {} if self._encoder is None else self._encoder.remarks
        lines = [PlanLine("column", name, remark) for name, remark in remarks.items()]
        return [PlanLine("columns", encoded, str(layout)), *lines]


def _named(features: Any, names: list[str]) -> list[str]:
    """Names of features that are given by index or name."""
    given = [] if features is None else [features] if np.ndim(features) == 0 else [*features]
    return [names[one] if isinstance(one, Integral) else one for one in given]
