"""A plain table of the chosen features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from featgrad.learnability import Learnability


def summarise(data: Learnability, features: Any, names: Sequence[str]) -> str:
    """Describe a choice of features: each one's gain, and what they explain beside all features.

    Parameters
    ----------
    data : Learnability
        The data set.
    features : array-like
        The chosen features, as for `Learnability.estimate`.
    names : sequence of str
        Names of the chosen features, in the order of their columns.

    Returns
    -------
    str
        Lines of text; gains are in per cent of the target's variance.
    """
    gains = data.gains(features)
    chosen, everything = data.estimate(features), data.estimate()
    width = max(len("feature"), *(len(name) for name in names))
    lines = [f"{'feature':<{width}}  gain", f"{'-' * width}  -----"]
    for gain, name in sorted(zip(gains, names, strict=True), reverse=True):
        lines.append(f"{name:<{width}}  {100 * gain:4.1f}%")
    lines += [
        "",
        f"explained by these {chosen.n_features} features: {chosen}",
        f"explained by all {everything.n_features} features:  {everything}",
    ]
    return "\n".join(lines)
