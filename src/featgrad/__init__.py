"""Feature selection by gradient descent on an estimate of learnability."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from featgrad.dataset.constraints import groups_by_origin
    from featgrad.estimates.diagnosis import DataWarning
    from featgrad.estimates.estimate import Estimate, PathPoint, Score, Sizes
    from featgrad.estimates.learnability import Learnability, learnability
    from featgrad.online.selector import OnlineFeatureSelector
    from featgrad.permutation import PermutationTest, permutation_test
    from featgrad.readers import open_source
    from featgrad.search.knockoffs import Knockoffs
    from featgrad.search.minibatch import MiniBatch
    from featgrad.search.working_set import WorkingSet
    from featgrad.selector import FeatureGradientSelector

__all__ = [
    "DataWarning",
    "Estimate",
    "FeatureGradientSelector",
    "Knockoffs",
    "Learnability",
    "MiniBatch",
    "OnlineFeatureSelector",
    "PathPoint",
    "PermutationTest",
    "Score",
    "Sizes",
    "WorkingSet",
    "groups_by_origin",
    "learnability",
    "open_source",
    "permutation_test",
]
# Imported when first used, so that `featgrad --help` does not wait for scikit-learn.
_MODULES = {
    "DataWarning": "estimates.diagnosis",
    "Estimate": "estimates.estimate",
    "FeatureGradientSelector": "selector",
    "Knockoffs": "search.knockoffs",
    "Learnability": "estimates.learnability",
    "MiniBatch": "search.minibatch",
    "OnlineFeatureSelector": "online.selector",
    "PathPoint": "estimates.estimate",
    "PermutationTest": "permutation",
    "Score": "estimates.estimate",
    "Sizes": "estimates.estimate",
    "WorkingSet": "search.working_set",
    "groups_by_origin": "dataset.constraints",
    "learnability": "estimates.learnability",
    "open_source": "readers",
    "permutation_test": "permutation",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
