"""What was asked for, which search ran and why so many features are chosen, in words."""

import platform
from collections.abc import Callable
from reprlib import repr as shortened
from typing import Any

import numpy as np

from featgrad._support.wording import counted
from featgrad.options import version_of
from featgrad.report.text import labels_of

_PACKAGES = ("featgrad", "numpy", "scipy", "scikit-learn")
_TASKS = {
    "regression": "numbers",
    "binary": "two classes",
    "multiclass": "several classes",
    "multilabel": "several labels for each row",
    "ordinal": "ordered classes",
}


def versions() -> str:
    found = [f"{package} {version_of(package)}" for package in _PACKAGES]
    return ", ".join([*found, f"Python {platform.python_version()}"])


def _groups_in_words(selector: Any) -> str:
    count = int(np.count_nonzero(np.bincount(labels_of(selector)) > 1))
    return f"{counted(count, 'group')} of features, each chosen as a whole"


# Label and text of a parameter that has another value than its default.
_WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "feature_groups": ("Groups", _groups_in_words),
    "keep": ("Always chosen", lambda fitted: counted(len(fitted.keep), "feature")),
    "exclude": ("Never chosen", lambda fitted: counted(len(fitted.exclude), "feature")),
    "n_resamples": ("Stability", lambda fitted: f"{fitted.n_resamples} searches of random halves"),
}
# Parameters that other lines of a report describe.
_DESCRIBED = {"n_features_to_select", "path_sizes", "max_cost", "task", "random_state", "verbose"}


def settings_in_words(selector: Any) -> dict[str, str]:
    """Label and text of what was asked for."""
    detected = ", detected" if selector.task == "auto" else ""
    lines = {
        "Number of features": _number(selector),
        "Target": f"{_TASKS[selector.task_]} ({selector.task_}{detected})",
    }
    defaults, given = (one.get_params(deep=False) for one in (type(selector)(), selector))
    changed = {k: v for k, v in given.items() if str(v) != str(defaults[k]) and k not in _DESCRIBED}
    lines |= {_WORDS[k][0]: _WORDS[k][1](selector) for k in changed if k in _WORDS}
    other = ", ".join(f"{k}={shortened(v)}" for k, v in changed.items() if k not in _WORDS)
    return lines | ({"Other parameters": other} if other else {})


def reason_of_size(selector: Any) -> str:
    """Why so many features are chosen."""
    sizes, size, limit = selector.sizes_, selector.n_features_, _number(selector)
    if sizes is None:
        return "as asked for" if limit == f"{size:,}" else limit
    if sizes.best is None:
        return "nothing predicts held-out rows better than noise"
    smallest, best = sizes.smallest.size, sizes.best.size
    chosen = "" if size == smallest else f"{size:,} asked for; "
    enough = f"{smallest:,} {'suffices' if smallest == 1 else 'suffice'}, "
    tried = " (the most tried)" if sizes.cap else ""
    return f"{chosen}{enough if smallest != best else ''}{best:,} is best{tried}"


def search_in_words(selector: Any) -> dict[str, str]:
    """Which search ran and why, and its certificate."""
    # Sizes are in the curve.
    lines = {
        decision.subject.capitalize(): f"{decision.choice} ({decision.reason})"
        for decision in selector.plan_.decisions
        if not decision.subject.endswith(" size")
    }
    if selector.certificate_ is not None:
        lines["Certificate"] = str(selector.certificate_)
    return lines


def _number(selector: Any) -> str:
    wanted = selector.n_features_to_select
    rule = selector.plan_.search.size_rule
    if rule is not None:
        return str(rule)
    if selector.max_cost is not None:
        return f"as many as cost no more than {selector.max_cost:g} in total"
    if isinstance(wanted, str):
        return "the smallest that predicts held-out rows about as well as any"
    if isinstance(wanted, float):
        return f"{wanted:.3g} of all"
    return f"{wanted:,}"
