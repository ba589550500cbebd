"""What to check before a selection is trusted: one list for the selector, the command and reports.

A bounded sample of rows is looked at in the chosen and the next best columns: for columns that hold
the target itself or the same as another, for means that move with the order of rows, and for
outliers; by `featgrad.estimates.diagnosis` for rows that depend on each other, and for curves.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincc

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import dense, to_numpy
from featgrad._support.wording import visible
from featgrad.columns.extremes import far_off
from featgrad.dataset.base import RowSample
from featgrad.estimates.diagnosis import Concern, of_rows, runs
from featgrad.estimates.estimate import NO_MODEL, PathPoint
from featgrad.plan import ESTIMATE_ROWS_IN_MEMORY, Plan
from featgrad.search.base import Discoveries
from featgrad.search.units import Units, Variables, best_first

# Columns that are looked at, at most, and entries of a sample.
_COLUMNS, _ENTRIES = 200, 1 << 21
# Most rows that leaks, duplicates and drift are looked for in, and the fewest: those that make up
# the variance of a column, and rows for everything but leaks and duplicates.
_ROWS, _FEWEST, _FEWEST_ROWS = 4000, 10, 60
# Share of the target's variance from which a feature is suspected to hold the target itself, how
# often one of noise may reach it, and the correlation from which two features are redundant.
LEAK, _CHANCE, _DUPLICATE = 0.9, 0.01, 0.99
# Share of the first and of the last rows that are compared, smallest shift in standard deviations
# and in standard errors.
_END, _SHIFT, _STANDARD_ERRORS = 0.2, 0.5, 5.0
# Names of columns that say what a row belongs to, and the fewest values of one.
_LABELS = re.compile(
    r"(?i:(.*[^a-z])?(id|patient|subject|participant|person|customer|user)(_?(id|no|nr))?)"
    r"|.*[a-z]I[Dd]"
)
_FEWEST_LABELS = 5
_LISTED = 5  # columns with outliers that are named


# Kinds that `fit` lists without a warning: the order of rows may mean nothing, as in two of the
# sets that come with scikit-learn, and estimates show their limits themselves.
UNWARNED = ("drift", "estimate")


def looked_at(scores: Floats, units: Indices, n_rows: int) -> Indices:
    """Columns to look at, the best first, without excluded ones."""
    count = min(_COLUMNS, max(1, _ENTRIES // min(n_rows, ESTIMATE_ROWS_IN_MEMORY)))
    best = best_first(np.where(units < 0, -np.inf, scores), count)
    return best[units[best] >= 0]


class Signs(NamedTuple):
    """What rows show in some columns."""

    columns: Indices
    units: Indices  # what each is chosen with
    variables: Indices  # what each is called by
    concerns: Sequence[Concern]  # whatever is chosen
    are_alike: Flags  # pairs of columns that say the same
    drift: Flags  # columns whose mean moves with the order of rows
    target_drifts: bool

    def of_set(self, chosen: Indices) -> list[Concern]:
        """All concerns where some columns are chosen."""
        inside = np.isin(self.columns, chosen)
        return [*self.concerns, *self._duplicates(inside), *self._drift(inside)]

    def _duplicates(self, inside: Flags) -> list[Concern]:
        """Units of which each column says the same as some column of another one."""
        names, unit = np.unique(self.units[inside], return_inverse=True)
        members = unit[:, None] == np.arange(len(names))
        found = self.are_alike[np.ix_(inside, inside)] @ members
        within = members.T.astype(int) @ found == members.sum(axis=0)[:, None]
        np.fill_diagonal(within, val=False)
        close = np.any(within | within.T, axis=1)[unit]
        text = f"{{names}}: each correlates by {_DUPLICATE} or more with another chosen feature."
        title, advice = "Near-duplicates among the chosen", "One of each pair would do."
        features = tuple(np.unique(self.variables[inside][close]).tolist())
        return [Concern("duplicates", title, text, advice, features)] if features else []

    def _drift(self, inside: Flags) -> list[Concern]:
        features = tuple(np.unique(self.variables[self.drift & inside]).tolist())
        what = ["{names}"] * bool(features) + ["the target"] * self.target_drifts
        text = (
            f"The first and the last fifth of the rows differ by more than {_SHIFT} standard "
            f"deviations in {' and '.join(what)}."
        )
        advice = (
            "Where rows are in order of time, what was learned may not last: hold out later "
            "ones, by cv=TimeSeriesSplit() or, in the command, --in-order."
        )
        title = "Drift with the order of rows"
        return [Concern("drift", title, text, advice, features)] if what else []


def signs(
    sample: RowSample,
    held: Indices,
    columns: Indices,
    units: Units,
    n_chosen: int,
    *,
    as_independent: bool,
    X: Any,
) -> Signs:
    """Look at some of the columns that a sample holds, the chosen ones first.

    Dependence, curves and drift are looked for where rows were taken as independent, outliers in
    all of X where it is given.
    """
    order, task, found = np.argsort(sample.places), sample.task, list[Concern]()
    every = np.arange(len(units.of_column))
    if units.variables is not None:
        every = units.variables.of_column

    def standardised(rows: Indices) -> tuple[Floats, Indices]:
        """Rows of the columns that vary in them, and these."""
        some = sample.columns.take(rows).columns(np.searchsorted(held, columns))
        values = to_numpy(some.values())
        deviations = values.std(axis=0)
        varies = deviations > 1e-6 * np.abs(values).max(axis=0)
        return values[:, varies] / deviations[varies], columns[varies]

    # 1. In runs of neighbours.
    rows = order[runs(len(order))]
    values, looked = standardised(rows)
    if is_enough := len(rows) >= _FEWEST_ROWS and len(looked) > 0:
        of_outputs = sum(far_off(sample.outputs).values()) if task == "regression" else 0
        of_columns = far_off(values if X is None else X)
        own = looked if X is None else np.arange(len(every))
        counts = {own[i]: n for i, n in of_columns.items() if units.of_column[own[i]] >= 0}
        found += _outliers(counts, every, of_outputs)
        if as_independent:
            found += of_rows(values, sample.outputs[rows], task, every[looked], n_chosen)
    # 2. In rows with the same distance.
    if len(order) > len(rows):
        rows = order[:: -(-len(order) // _ROWS)]
        values, looked = standardised(rows)
    values, outputs = values - values.mean(axis=0), sample.outputs[rows]
    outputs = outputs - outputs.mean(axis=0)
    correlations = values.T @ values / max(len(values), 1)
    # Rows that depend on each other drift by nature, and those sorted by the target by design.
    is_in_time = as_independent and all(concern.kind != "dependence" for concern in found)
    is_in_time &= is_enough and not _are_sorted(outputs, task)
    drift, of_target = _shifts(values) & is_in_time, is_in_time and bool(_shifts(outputs).any())
    # Columns whose variance is that of a few rows agree with others by chance.
    spread = len(values) / np.maximum(np.mean(values**4, axis=0), 1) >= _FEWEST
    among = correlations[np.ix_(spread, spread)], values[:, spread].T @ outputs, outputs
    found += _leaks(*among, every[looked][spread], units.count)
    are_alike = (np.abs(correlations) >= _DUPLICATE) & spread
    about = looked, units.of_column[looked], every[looked]
    return Signs(*about, found, are_alike, drift, of_target)


def shared_labels(
    X: Any, names: Sequence[str], plan: Plan, variables: Variables | None
) -> list[Concern]:
    """A variable, or indicators of one, whose name and values say what rows belong to.

    Nothing where the plan holds out more than single rows.
    """
    features: dict[str, list[int]] = {}
    for i, name in enumerate(names if plan.held_out_by == "rows" else ()):
        stem = str(name).split("=")[0]
        if _LABELS.fullmatch(stem):
            features.setdefault(stem, []).append(i)
    for stem, own in features.items():
        columns = own if variables is None else variables.columns(np.array(own)).tolist()
        n_labels = len(columns)
        if columns:
            values = np.asarray(dense(X[:, columns[:1]]), np.float64)
            are_whole = np.all(values == np.round(values))
            n_labels = max(n_labels, len(np.unique(values))) if are_whole else 0
        if _FEWEST_LABELS <= n_labels <= X.shape[0] / 2:
            shown = visible(stem).replace("{", "{{").replace("}", "}}")
            text = f"Several rows have the same {shown}."
            advice = (
                "Where these belong together, what is said of held-out rows is too good for new "
                "ones: give it to fit as groups (--group), not as a feature."
            )
            return [Concern("identifier", "Rows share a label", text, advice, (own[0],))]
    return []


def of_estimate(point: PathPoint, discoveries: Discoveries | None) -> list[Concern]:
    """The first of the things that a reader of the estimate of a set should know."""
    here, nothing = point.learnability, "nothing to learn"
    if point.size == 0 and discoveries is not None:
        return [Concern(nothing, "Nothing found at this rate", *discoveries.nothing_found)]
    if point.size == 0:
        text = f"No features were selected: {NO_MODEL}."
        advice = (
            "More rows or other features are needed. For the next step of a pipeline, which gets "
            "no columns, set min_features_to_select=1."
        )
        return [Concern(nothing, "No linear relation found", text, advice)]
    if here is None:
        return []
    limits = {
        (
            "Too few rows",
            "There are too few rows to hold some out: what the chosen features explain is unknown.",
            "Give more rows.",
        ): math.isnan(here.value),
        (
            "Estimate too high",
            "What the chosen features explain was estimated from the rows that chose them and is "
            "too high.",
            "Check it on new rows.",
        ): here.is_optimistic,
        (
            "Perhaps no linear relation",
            f"The chosen features explain {here} of the target's variance: the "
            "interval reaches 0, so a linear model on them may fit noise only.",
            "More rows or other features are needed.",
        ): here.interval[0] <= 0,
        (
            "A lower bound",
            "There are fewer than two independent rows for each chosen feature, or the features "
            "are nearly collinear: they explain at least the estimate, perhaps much more.",
            "More rows would tell.",
        ): here.is_lower_bound,
    }
    return [Concern("estimate", *limit) for limit, applies in limits.items() if applies][:1]


def _leaks(
    correlations: Floats, products: Floats, outputs: Floats, variables: Indices, n_candidates: int
) -> list[Concern]:
    """Variables that explain nearly all of the target, each by itself, more than chance would."""
    n_rows, suspects = len(outputs), dict[int, float]()
    total = n_rows * float(np.sum(outputs**2))
    for variable, count in zip(*np.unique(variables, return_counts=True), strict=True):
        own = np.flatnonzero(variables == variable)
        along = products[own]
        if count == 1 and np.sum(along**2) < LEAK * total:
            continue
        model, _, rank, _ = np.linalg.lstsq(correlations[np.ix_(own, own)], along, rcond=1e-9)
        explained, free = min(float(np.sum(model * along)) / total, 1.0), n_rows - int(rank) - 1
        if free > 0 and (1 - explained) * (n_rows - 1) <= (1 - LEAK) * free:
            by_chance = n_candidates * betaincc(rank / 2, free / 2, explained)
            suspects |= {int(variable): explained} if by_chance < _CHANCE else {}
    ranked = sorted(suspects, key=suspects.__getitem__, reverse=True)
    most = f"{max(suspects.values(), default=0):.0%} of the target's variance"
    text = f"By itself, {{names}} explains {most}."
    if len(ranked) > 1:
        text = f"{{names}} explain up to {most}, each by itself."
    advice = "A feature that is known only after the target must be excluded."
    found = Concern("leak", "Possible leak of the target", text, advice, tuple(ranked))
    return [found] if ranked else []


def _are_sorted(outputs: Floats, task: str) -> bool:
    """Whether rows are in the order of the target, or of its classes."""
    if task in ("regression", "ordinal"):
        rises = np.diff(outputs.sum(axis=1))
        return bool(np.all(rises >= 0) or np.all(rises <= 0))
    changes = np.count_nonzero(np.any(np.diff(outputs, axis=0) != 0, axis=1))
    return bool(changes == len(np.unique(outputs, axis=0)) - 1)


def _shifts(values: Floats) -> Flags:
    n_rows = max(1, int(_END * len(values)))
    first, last = values[:n_rows], values[-n_rows:]
    gap = np.abs(last.mean(axis=0) - first.mean(axis=0))
    variance = (first.var(axis=0) + last.var(axis=0)) / 2
    significant = gap > _STANDARD_ERRORS * np.sqrt(2 * variance / n_rows)
    return np.asarray(significant & (gap > _SHIFT * values.std(axis=0)))


def _outliers(of_columns: dict[int, int], variables: Indices, of_target: int) -> list[Concern]:
    """Numbers of cells that are far off."""
    counts: dict[int, int] = {}
    for column, count in of_columns.items():
        counts[int(variables[column])] = counts.get(int(variables[column]), 0) + count
    if not counts and not of_target:
        return []
    shown = [f"{{{i}}} ({count})" for i, count in enumerate(counts.values())][:_LISTED]
    more = len(counts) - len(shown)
    shown += [f"{more} more columns"] if more else []
    shown += [f"the target ({of_target})"] if of_target else []
    text = (
        f"Few cells that are far off make up most of the variance of {', '.join(shown)}; how many "
        "is in brackets."
    )
    advice = (
        'Where they are errors or fill values, use preprocess="robust" (--robust), which clips '
        "them, or mark them as missing."
    )
    return [Concern("outliers", "Outliers", text, advice, tuple(counts))]
