"""What scikit-learn has only from some version on, and what takes its place before."""

from typing import Any, Self

import numpy as np

__all__ = ["CallbackContext", "CallbackSupportMixin", "FitCallback", "array_api_compat"]
__all__ += ["check_same_namespace", "convert_to_numpy", "with_callbacks"]

try:  # from 1.9 on; before, the selector itself tells callbacks of the end of each step and fit
    from sklearn.callback import CallbackContext, CallbackSupportMixin, FitCallback, with_callbacks
except ImportError:
    FitCallback = object

    def with_callbacks(method: Any) -> Any:
        return method

    class CallbackContext:  # type: ignore[no-redef]
        def __init__(self, callbacks: tuple[Any, ...], task_name: str, parent: Any = None) -> None:
            self.task_name, self.parent, self._callbacks = task_name, parent, callbacks

        def subcontext(self, task_name: str) -> "CallbackContext":
            return CallbackContext(self._callbacks, task_name, self)

        def call_on_fit_task_begin(self, estimator: Any) -> None: ...

        def call_on_fit_task_end(self, estimator: Any) -> bool:
            stops = [callback.on_fit_task_end(estimator, self) for callback in self._callbacks]
            return any(stops)

    class CallbackSupportMixin:  # type: ignore[no-redef]
        _callbacks: tuple[Any, ...] = ()

        def set_callbacks(self, *callbacks: Any) -> Self:
            self._callbacks = callbacks
            return self

        def _init_callback_context(self, max_subtasks: int | None) -> CallbackContext:
            return CallbackContext(self._callbacks, "fit")


try:  # from 1.8 on
    from sklearn.utils._array_api import check_same_namespace
except ImportError:

    def check_same_namespace(X: Any, estimator: Any, *, attribute: str, method: str) -> None: ...


try:  # from 1.7 on
    from sklearn.externals import array_api_compat
    from sklearn.utils._array_api import _convert_to_numpy as convert_to_numpy
except ImportError:
    from scipy._lib import array_api_compat  # type: ignore[no-redef]

    def convert_to_numpy(array: Any, xp: Any) -> Any:
        has_device = xp.__name__.endswith(("torch", "cupy"))
        return np.asarray(array_api_compat.to_device(array, "cpu") if has_device else array)
