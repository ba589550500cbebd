"""A plain table of the chosen features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from featgrad.arrays import Floats
from featgrad.learnability import Estimate, Learnability
from featgrad.report.text import visible

# Number of features that the row of a group names.
_MAX_NAMES = 3


class Row(NamedTuple):
    """A feature or a group of features, and the explained fraction that is lost without it."""

    name: str
    features: list[str]
    gain: float

    def __str__(self) -> str:
        if self.features == [self.name]:
            return visible(self.name)
        more = ", ..." if len(self.features) > _MAX_NAMES else ""
        return visible(f"{self.name} ({', '.join(self.features[:_MAX_NAMES])}{more})")


def gain_rows(names: Sequence[str], gains: Floats, groups: Sequence[str] | None) -> list[Row]:
    """One row for each feature or group, the best first; features of a group share a gain."""
    labels: Sequence[int | str] = range(len(names)) if groups is None else groups
    rows: dict[int | str, Row] = {}
    for name, gain, label in zip(names, gains.tolist(), labels, strict=True):
        row = rows.setdefault(label, Row(name if groups is None else str(label), [], gain))
        row.features.append(name)
    return sorted(rows.values(), key=lambda row: (row.gain, row.name), reverse=True)


def summarise(
    data: Learnability, features: Any, names: Sequence[str], groups: Sequence[str] | None = None
) -> str:
    """Describe a selection: the gain of each feature, and what all of them explain.

    Parameters
    ----------
    data : Learnability
        The data set.
    features : array-like
        The chosen features, as for `Learnability.estimate`.
    names : sequence of str
        Names of the chosen features, in the order of their columns.
    groups : sequence of str, default=None
        Names of the groups of the features. A group has one row, with the explained fraction that
        is lost without all of it.

    Returns
    -------
    str
        Lines of text; gains are in per cent of the target's variance.
    """
    rows = gain_rows(names, data.gains(features, groups), groups)
    return as_text(rows, data.estimate(features), data.estimate())


def as_text(rows: Sequence[Row], chosen: Estimate, everything: Estimate) -> str:
    """The rows aligned, and both estimates below."""
    width = max([len("feature"), *(len(str(row)) for row in rows)])
    lines = [f"{'feature':<{width}}  gain", f"{'-' * width}  -----"]
    lines += [f"{row!s:<{width}}  {100 * row.gain:4.1f}%" for row in rows]
    these = "this feature" if chosen.n_features == 1 else f"these {chosen.n_features} features"
    labels = f"explained by {these}:", f"explained by all {everything.n_features} features:"
    width = max(map(len, labels))
    estimates = zip(labels, (chosen, everything), strict=True)
    return "\n".join([*lines, "", *(f"{label:{width}} {found}" for label, found in estimates)])
