"""Settings of a selector in words."""

from collections.abc import Callable
from reprlib import repr as shortened
from typing import Any

import numpy as np

from featgrad.report.text import counted

_TASKS = {
    "regression": "numbers",
    "binary": "two classes",
    "multiclass": "several classes",
    "multilabel": "several labels for each row",
    "ordinal": "ordered classes",
}


def _sizes(sizes: Any) -> str:
    numbers = [f"{size:,}" for size in np.unique(sizes)]
    return ", ".join(numbers if len(numbers) <= 20 else [*numbers[:10], "…", *numbers[-3:]])


def _groups(groups: Any) -> str:
    """How many groups of several features there are, given as lists or as labels."""
    given = list(groups)
    if np.ndim(given[0]) == 0:
        count = int(np.sum(np.unique(list(map(str, given)), return_counts=True)[1] > 1))
    else:
        count = sum(len(group) > 1 for group in given)
    return f"{counted(count, 'group')} of features, each chosen as a whole"


# Label and text of a parameter that has another value than its default.
_WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "path_sizes": ("Sizes tried", _sizes),
    "feature_groups": ("Groups", _groups),
    "keep": ("Always chosen", lambda features: counted(len(features), "feature")),
    "exclude": ("Never chosen", lambda features: counted(len(features), "feature")),
    "n_resamples": ("Stability", lambda n: f"{n} searches, each on a random half of the rows"),
    "preprocess": ("Scale", lambda _: "features are centred, and keep their own variance"),
    "missing": ("Missing values", lambda _: "count as the mean of their column"),
    "device": ("Device", str),
}
# Parameters that are described elsewhere in a report.
_ELSEWHERE = {"n_features_to_select", "fdr", "max_cost", "task", "random_state", "verbose"}


def settings_in_words(selector: Any) -> dict[str, str]:
    """Label and text of what was asked for."""
    detected = ", detected" if selector.task == "auto" else ""
    lines = {
        "Number of features": _number(selector),
        "Target": f"{_TASKS[selector.task_]} ({selector.task_}{detected})",
    }
    defaults = type(selector)().get_params()
    other = []
    for name, value in selector.get_params().items():
        if name in _ELSEWHERE or str(value) == str(defaults[name]):
            continue
        if name in _WORDS:
            label, words = _WORDS[name]
            lines[label] = words(value)
        else:
            other.append(f"{name}={shortened(value)}")
    return lines | ({"Other parameters": ", ".join(other)} if other else {})


def search_in_words(selector: Any) -> dict[str, str]:
    """Which search ran and why, and its certificate."""
    lines = {
        decision.subject.capitalize(): f"{decision.choice} ({decision.reason})"
        for decision in selector.plan_.decisions
    }
    if selector.certificate_ is not None:
        lines["Certificate"] = str(selector.certificate_)
    return lines


def _number(selector: Any) -> str:
    wanted = selector.n_features_to_select
    if selector.fdr is not None:
        return f"as many as keep the expected share of false ones below {selector.fdr:g}"
    if selector.max_cost is not None:
        return f"as many as cost no more than {selector.max_cost:g} in total"
    if selector.plan_.search == "penalty":
        return "as many as the penalty leaves"
    if isinstance(wanted, str):
        return "the smallest that predicts held-out rows about as well as any"
    if isinstance(wanted, float):
        return f"{wanted:.3g} of all"
    return f"{wanted:,}"
