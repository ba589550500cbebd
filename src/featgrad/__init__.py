"""Feature selection by gradient descent on an estimate of learnability."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from featgrad.construct.constructor import FeatureGradientConstructor
    from featgrad.dataset.constraints import groups_by_origin
    from featgrad.estimates.diagnosis import Concern, DataWarning
    from featgrad.estimates.estimate import (
        Estimate,
        FeatureGains,
        PathPoint,
        Score,
        SelectionPath,
        Sizes,
    )
    from featgrad.estimates.learnability import Learnability, learnability
    from featgrad.online.history import Event, Timeline, TimelinePoint
    from featgrad.online.selector import OnlineFeatureSelector
    from featgrad.permutation import PermutationTest, permutation_test
    from featgrad.plan import Plan
    from featgrad.readers import open_source
    from featgrad.report.describe import Description, describe
    from featgrad.search.base import Certificate, Discoveries
    from featgrad.search.knockoffs import Knockoffs
    from featgrad.search.minibatch import MiniBatch
    from featgrad.search.stability import Stability
    from featgrad.search.working_set import WorkingSet
    from featgrad.selector import FeatureGradientSelector

__all__ = [
    "Certificate", "Concern", "DataWarning", "Description", "Discoveries", "Estimate", "Event",
    "FeatureGains", "FeatureGradientConstructor", "FeatureGradientSelector", "Knockoffs",
    "Learnability", "MiniBatch", "OnlineFeatureSelector", "PathPoint", "PermutationTest", "Plan",
    "Score", "SelectionPath", "Sizes", "Stability", "Timeline", "TimelinePoint", "WorkingSet",
    "describe", "groups_by_origin", "learnability", "open_source", "permutation_test",
]  # fmt: skip
# Imported when first used, so that `featgrad --help` does not wait for scikit-learn.
_NAMES = {
    "construct.constructor": "FeatureGradientConstructor",
    "dataset.constraints": "groups_by_origin",
    "estimates.diagnosis": "Concern DataWarning",
    "estimates.estimate": "Estimate FeatureGains PathPoint Score SelectionPath Sizes",
    "estimates.learnability": "Learnability learnability",
    "online.history": "Event Timeline TimelinePoint",
    "online.selector": "OnlineFeatureSelector",
    "permutation": "PermutationTest permutation_test",
    "plan": "Plan",
    "readers": "open_source",
    "report.describe": "Description describe",
    "search.base": "Certificate Discoveries",
    "search.knockoffs": "Knockoffs",
    "search.minibatch": "MiniBatch",
    "search.stability": "Stability",
    "search.working_set": "WorkingSet",
    "selector": "FeatureGradientSelector",
}


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
