"""Every limit that changes a choice, and which search runs because of them.

`plan` is a pure function of the shape of the data and of the selector's parameters. The selector
runs it and keeps it as `plan_`; `featgrad select --explain` prints it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

# The working set.
# Columns of the first working set: at least, and for each feature of the set.
WORKING_SET = 256
WORKING_SET_FACTOR = 3
# Columns that enter in a round of pricing: at least, and for each feature of the set.
ENTERING = 128
ENTERING_FACTOR = 1
# A column enters if it is worth more than noise: than the column of noise whose rank is this share
# of the columns that may enter.
ENTERING_NOISE = 0.25
# Rounds of pricing at most; fewer where no column outside is worth more than chance.
ROUNDS = 2
# A rank among columns of noise that the best of them passes in one of twenty cases: what is worth
# more outside the set is more than chance.
RARE_RANK = 0.35
# Units that elimination starts from: for each unit of the set, and at least so many more.
CANDIDATES_FACTOR = 2
CANDIDATES_MORE = 64
# The largest ridge of elimination, as a multiple of the one that predicts best from the columns
# that explain most by themselves. Where it is below what the filter shrinks by, elimination starts
# from all units of the working set.
RIDGE_FACTOR = 30.0
# Ridges that are compared, as multiples of the mean variance of columns, and the share of rows that
# a fit may use up.
RIDGES = np.geomspace(1e-3, 10.0, 25)
RIDGE_FREEDOM = 0.5
# One in this many of the units that are present is eliminated at once.
ELIMINATED_AT_ONCE = 16

# Swaps after elimination: rows for each unit that they need, and their ridge.
SWAP_ROWS_PER_UNIT = 20
SWAP_RIDGE = 0.01
# Rows for each column that it takes to find those which fit noise only, and to choose the last
# groups by least squares.
FILL_ROWS_PER_UNIT = 2

# The descent.
STEP = 1.0
MOMENTUM = 0.8
# Sharpness of the mask, step by step: in the first descent, and after columns have entered.
FIRST_SHARPNESS = np.geomspace(2, 12, 6)
NEXT_SHARPNESS = np.geomspace(3, 20, 4)
# Orders of the folds that take turns.
FOLD_ORDERS = 4
MOST_STEPS = len(FIRST_SHARPNESS) + ROUNDS * len(NEXT_SHARPNESS)
# The largest residual 1 - p(x) that the Chebyshev filter leaves on its interval [a, 1].
CHEBYSHEV_RESIDUAL = 0.03
# The filter's scale, as a multiple of the top eigenvalue of a set.
SCALE_FACTOR = 2.4

# Large sets, searched over all columns while rows are streamed.
# Largest set for which moments of a working set are kept, and of how many times as many columns.
LARGEST_SET = 500
LARGE_FACTOR = 3
BATCH_STEPS = 40
BATCH_ROWS = 1000
COLUMNS_PER_BATCH_ROW = 100
BATCH_SHARPNESS = 2.0, 20.0
BATCH_STEP = 0.2
BATCH_MOMENTUM = 0.9
BATCH_SCALE = 3.6
# Share of all steps after which rows are nearly forgotten, and the least share that is kept.
BATCH_WINDOW = 0.25
BATCH_LEAST_SHARE = 0.1
# Batches after which rows are nearly forgotten where a penalty decides the size.
PENALTY_WINDOW = 20
# Weight of the past in the moving average whose relative change ends a search by penalty.
PENALTY_MEMORY = 1 / 3

# Rows.
# Folds of rows at least; twice the filter's order and four more for high orders.
FOLDS = 12
# Most folds that a splitter may make of the rows: moments are kept of each.
MOST_FOLDS = 100
# Groups of folds that are held out in turn to choose a size.
HELD_OUT_GROUPS = 4
# Standard errors by which held-out rows must be predicted better than noise would be, or nothing is
# chosen.
NOISE_ERRORS = 2.5
# Sizes whose median stands for the one in their middle, and how far below the best correlation a
# size still suffices: by one standard error, but at most by this share of it. Where the curve is
# flat, half or twice of that would decide otherwise: the mean of all three sizes is chosen.
SMOOTHED_SIZES = 5
SIZE_TOLERANCE = 0.01
TOLERANCE_FACTORS = np.array([0.5, 1.0, 2.0])
# Rows for each column that least squares needs; fewer give a lower bound of what columns explain.
ROWS_PER_COLUMN = 2
# Ridge of models that predict held-out rows, as a sum of squares: that of a logistic model with
# C = 1.
HELD_OUT_RIDGE = 4.0
# Entries of the moments of all columns, over all folds, up to which these are kept.
MOMENT_ENTRIES = 1 << 24
# Entries of rows that came in chunks which are kept, and the fewest rows.
KEPT_ENTRIES = 1 << 25
FEWEST_KEPT = 64
# Most rows of many that estimates are made from: to a hundredth of the variance.
ESTIMATE_ROWS = 10_000
# The same of a matrix in memory, whose rows need not be read again.
ESTIMATE_ROWS_IN_MEMORY = 50_000
# Distinct rows that distinguish copies of a row from rows that agree by chance: at most, and at
# least.
COPY_ROWS = 1000
FEWEST_COPY_ROWS = 8
# Rows that the spectrum of a covariance is estimated from.
SPECTRUM_ROWS = 10_000
# Bytes of a file that the command loads and fits as a whole, and of the sample that it takes of a
# larger one for gains, warnings and the report.
LOADED_BYTES = 1 << 27
LOADED_SAMPLE_BYTES = 1 << 25
# Rows whose random order is exact; of more, a few share a place.
EXACT_ORDER_ROWS = 1 << 17

# Streams.
# Rows that are learned from at once, after which features are chosen, and after which columns enter
# the working set; fewer at first.
ONLINE_BLOCK = 100
ONLINE_DECISION = 200
ONLINE_ENTRY = 500
# The shortest half-life that is suggested; others are twice as long each.
SHORTEST_HALF_LIFE = 250.0
# Half-lives of learning: at first, and after an alarm, when the change may still go on.
LEARNING_HALF_LIVES = 4
ALARM_LEARNING = 5
# Recent rows, the past of columns that enter the working set: half-lives and entries at most.
RECENT_HALF_LIVES = 2
RECENT_ENTRIES = 1 << 22
# The ridge, as a share of the largest eigenvalue of the columns.
ONLINE_RIDGE = 0.1
# By how many standard errors a column that enters must be worth more than one that leaves: after
# learning, and while learning after an alarm; at first by none.
ONLINE_ADVANTAGE = 3.5
ALARM_ADVANTAGE = 1.0
# Alarms: half-lives that errors and the dependence of rows are remembered for, blocks before the
# first alarm, the CUSUM's reference value, its increase for the uncertain mean in standard errors,
# and what a single block counts at most, in standard deviations.
ALARM_MEMORY = 4
ALARM_WARM_UP = 20
ALARM_REFERENCE = 0.5
ALARM_UNCERTAINTY = 1.5
# How much worse an earlier set may predict than the present one until that counts as a shift, in
# the same units: the first sets of a stream are a little worse, although nothing has changed.
SHIFT_REFERENCE = 1.0
ALARM_LARGEST = 3.0
# Half-lives that rows before an alarm are older for it, at most.
ALARM_HALF_LIVES = 3
# Events that are remembered, and decisions: at first all, later every second one and so on.
HISTORY_LENGTH = 10_000
TIMELINE_LENGTH = 256

# Share of an accelerator's free memory up to which X is kept there: sums and copies of some columns
# need the rest. A larger X is copied block by block, whenever its rows are visited.
DEVICE_SHARE = 0.5
# Entries up to which X on an accelerator is copied to the host, where fits of it are faster.
HOST_ENTRIES = 1 << 16
# Blocks of rows that an accelerator takes value and gradient over: of rows in distinct blocks.
DEVICE_BLOCKS = 32

# Targets. Whole numbers from 0 or 1 on without gaps are taken for classes up to this many values,
# others for numbers, unless held-out rows contradict; beyond the last limit they do not.
MANY_CLASSES = 20
MOST_CLASSES = 100
LEAST_ROWS_PER_CLASS = 3
# Up to this many values without gaps are classes, unless these predict nothing.
FEW_CLASSES = 5
# What predicts held-out rows: rows at most and at least, folds, columns, and the ridge.
TASK_ROWS = 1000
FEWEST_TASK_ROWS = 30
TASK_FOLDS = 4
TASK_COLUMNS = 32
TASK_RIDGE = 0.5
# Standard errors by which predictions have to be better than none, those of few values more.
TASK_ERRORS = 1.5
FEW_CLASS_ERRORS = 3.0
# By how much classes have to be better: as a share of what they explain, or of what is left.
CLASS_ADVANTAGE = 0.4

# Columns of tables: most different texts of a column that is encoded; texts of which at least this
# share differ, in at least so many rows, are like an identifier and left out.
MOST_TEXTS = 1000
ID_LIKE_SHARE = 0.9
ID_LIKE_ROWS = 20

# Interquartile ranges from the quartiles to the fences that "robust" clips at, and to cells that
# are far off. These are named where they make up this share of their column's variance, or this
# one if all are one fill value, in this share of the rows at most.
FENCE_REACH = 3.0
FAR_REACH = 10.0
FAR_VARIANCE = 0.97
FAR_FILL_VARIANCE = 0.5
FAR_ROWS = 0.05

# Sizes.
# Features up to which "auto" tries every size, and sizes that it tries of more; at most one for
# every two rows.
EVERY_SIZE = 30
AUTO_SIZES = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    *(12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300),
)
# Sizes that a report shows next to the one that was asked for.
CURVE_SIZES = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300)
# Larger sizes than each of these are tried if one of the two largest before them is the best.
AUTO_STAGES = (30, 100)

# Knockoffs.
# Largest number of columns, as their covariance is kept. Of more, a share of the rows chooses some:
# so many for each row of the others.
KNOCKOFF_COLUMNS = 5000
SCREENING_ROWS = 1 / 3
SCREENED_PER_ROW = 3.0
# Knockoffs that choose by themselves, and the share of them that has to agree.
KNOCKOFF_COPIES = 20
KNOCKOFF_MAJORITY = 1 / 2
# Where they choose none: the share of the rate that p-values of single features keep, and the least
# share of a column's variance that others do not explain.
TESTED_RATE = 0.75
LEAST_OWN_VARIANCE = 1e-3
# Steps towards the knockoffs of maximum entropy, and the gain per column that ends them.
ENTROPY_STEPS = 50
ENTROPY_GAIN = 1e-4
# The lasso's path: penalties, the last as a share of the first, points without improvement that end
# it, and active columns that end it as a share of the rows.
PATH_POINTS = 50
PATH_END = 0.01
PATH_PATIENCE = 5
PATH_SHARE = 0.5


class PlanFacts(NamedTuple):
    """What a plan depends on.

    Attributes
    ----------
    storage : {"memory", "source", "chunks", "device", "dask"}
        Where the rows are: in memory, read again block by block, kept from chunks, visited on an
        accelerator, or in partitions that workers of Dask compute or read.
    n_rows, n_features, n_outputs : int
        Shape of the data.
    n_splits : int
        How often rows are held out.
    held_out_by : {"rows", "groups", "cv"}
        What is held out: rows by themselves, groups of them, or parts that a splitter makes.
    """

    storage: str
    n_rows: int
    n_features: int
    n_outputs: int
    n_splits: int = HELD_OUT_GROUPS
    held_out_by: str = "rows"


# What is held out, in words.
_HELD_OUT = {
    "rows": "parts of the rows",
    "groups": "parts of the groups of rows",
    "cv": "test sets of cv",
}
# In words, and what puts rows there.
_STORAGES = {
    "memory": ("in memory", "X is an array"),
    "source": ("read block by block", "fit_source"),
    "chunks": ("from chunks", "partial_fit keeps a sample and exact sums"),
    "device": ("on an accelerator", "X is there, or device sends it"),
    "dask": ("in partitions", "workers of Dask have or read them"),
}


class Needs(NamedTuple):
    """What a search declares: which rows and which wishes it can serve.

    Attributes
    ----------
    storages : tuple of str
        Where rows may be, as in `PlanFacts`.
    groups_and_costs : bool
        Whether several columns may be one unit, and units differ in cost.
    moments : bool
        Whether it asks for moments of columns, which can be kept of all of them.
    streams : bool
        Whether it passes over the rows batch by batch.
    repeats : bool
        Whether it is repeated without held-out folds, so that these can choose a size and estimate
        what a set explains, and on halves of the rows.
    independent_rows : bool
        Whether it is valid only where no rows belong together.
    largest : float
        The largest set that "auto" leaves to it, where another search can find larger ones.
    """

    storages: tuple[str, ...] = ("memory", "source", "chunks", "device", "dask")
    groups_and_costs: bool = True
    moments: bool = False
    streams: bool = False
    repeats: bool = False
    independent_rows: bool = False
    largest: float = math.inf


class Planned(Protocol):
    """What a plan has to know of a search, and how it is run."""

    @property
    def needs(self) -> Needs:
        """What it can serve."""

    @property
    def size_rule(self) -> str | None:
        """How many features it chooses, in words; None where it takes budgets."""

    def explain(self, facts: PlanFacts, budgets: Sequence[float]) -> "list[PlanLine]":
        """What it decides by its limits."""

    def run(self, job: Any) -> Any:
        """The outcome of a job."""


class Wanted(NamedTuple):
    """What the parameters ask for.

    Attributes
    ----------
    search : Planned or None
        The search that was given; None where the plan decides.
    budgets : tuple of float
        Sizes or costs, rising; empty where the search decides the size.
    single_columns : bool
        Whether features are chosen one by one, at the same cost.
    order : int
        Of the filter.
    compares_sizes : bool
        Whether held-out rows choose among the sizes.
    estimates : bool
        Whether sets are estimated from held-out rows.
    n_resamples : int
        Choices from half the rows.
    """

    search: Planned | None
    budgets: tuple[float, ...]
    single_columns: bool
    order: int
    compares_sizes: bool
    estimates: bool
    n_resamples: int


class PlanLine(NamedTuple):
    """One line of a plan: what was decided, and because of what."""

    subject: str
    choice: str
    reason: str


class HeldOut(NamedTuple):
    """Correlation of prediction and target on held-out rows, for one budget."""

    budget: float
    correlation: float
    standard_error: float


class Part(NamedTuple):
    """A search, and the budgets that it finds sets for."""

    search: Planned
    budgets: tuple[float, ...]


@dataclass(frozen=True)
class Plan:
    """Which search runs, on what, and why.

    Attributes
    ----------
    parts : tuple of Part
        The search, or one for the smaller sets of a path and another for the larger ones.
    n_folds : int
        Folds of rows.
    moments_of_all_columns : bool
        Whether moments of all columns are taken once, instead of those of working sets.
    decisions : tuple of PlanLine
        The same in words, with the limits that decided.
    held_out : tuple of HeldOut
        Correlation on held-out rows for each budget, where they chose the size.
    held_out_by : {"rows", "groups", "cv"}
        What is held out: rows by themselves, groups of them, or parts that a splitter makes.
    """

    parts: tuple[Part, ...]
    n_folds: int
    moments_of_all_columns: bool
    decisions: tuple[PlanLine, ...]
    held_out: tuple[HeldOut, ...] = ()
    held_out_by: str = "rows"

    @property
    def search(self) -> Planned:
        """The search for the sets, or for the smaller ones of a path."""
        return self.parts[0].search

    def __str__(self) -> str:
        width = max(len(decision.subject) for decision in self.decisions)
        lines = [f"{d.subject:{width}}  {d.choice} ({d.reason})" for d in self.decisions]
        for budget, correlation, error in self.held_out:
            found = f"correlation {correlation:.3f} +- {error:.3f} on held-out rows"
            lines.append(f"{'size ' + format(budget, 'g'):{width}}  {found}")
        return "\n".join(lines)


def plan(facts: PlanFacts, wanted: Wanted, searches: Sequence[Planned]) -> Plan:
    """Decide which of the searches runs, and refuse what none of them can do.

    Of several that could, the first is taken.
    """
    n_folds = folds_of(wanted.order)
    parts, reason = _parts(facts, wanted, searches)
    for part in parts:
        _check(part.search, facts, wanted)
    main, *others = parts
    moments = _moments(facts, main.search, n_folds)
    decisions = [PlanLine("search", repr(main.search), reason), _rows(facts)]
    decisions += main.search.explain(facts, main.budgets)
    if main.search.needs.moments:
        decisions.append(moments)
    for search, budgets in others:
        sizes = ", ".join(f"{budget:g}" for budget in budgets)
        limit = f"sets above {main.search.needs.largest} of {facts.n_features} features"
        decisions.append(PlanLine("search of large sets", f"{search!r} for {sizes}", limit))
    if wanted.compares_sizes:
        groups = f"{facts.n_splits} {_HELD_OUT[facts.held_out_by]} are held out in turn"
        tried = f"one of {len(wanted.budgets)} up to {wanted.budgets[-1]:g}"
        decisions.append(PlanLine("size", tried, groups))
    decisions.append(_estimates(facts, wanted, main.search, n_folds))
    if wanted.n_resamples:
        halves = f"n_resamples={wanted.n_resamples}"
        decisions.append(PlanLine("stability", "complementary halves of the folds", halves))
    of_all = moments.choice == "all columns"
    return Plan(tuple(parts), n_folds, of_all, tuple(decisions), held_out_by=facts.held_out_by)


def _parts(
    facts: PlanFacts, wanted: Wanted, searches: Sequence[Planned]
) -> tuple[Sequence[Part], str]:
    """Searches with their budgets, smaller ones first, and why."""
    if wanted.search is not None:
        rule = wanted.search.size_rule
        return [Part(wanted.search, wanted.budgets)], rule or "asked for by search"
    first, larger = searches[0], [other for other in searches[1:] if _can(other, facts, wanted)]
    limit = first.needs.largest
    if not larger or facts.n_features <= LARGE_FACTOR * limit or wanted.budgets[-1] <= limit:
        return [Part(first, wanted.budgets)], f"sets of up to {limit} features or a limited budget"
    small = tuple(budget for budget in wanted.budgets if budget <= limit)
    large = Part(larger[0], wanted.budgets[len(small) :])
    if small:
        return [Part(first, small), large], f"sets of up to {limit} features or a limited budget"
    more = f"{wanted.budgets[0]:g} features are more than {limit}"
    return [large], f"{more}, the largest set for which a working set is kept"


def _can(search: Planned, facts: PlanFacts, wanted: Wanted) -> bool:
    """Whether a search could take the place of the first one for large sets."""
    needs = search.needs
    # Of rows that came in chunks only a sample is left to stream.
    is_kept = not (needs.streams and facts.storage == "chunks")
    fits = needs.groups_and_costs or wanted.single_columns
    return search.size_rule is None and facts.storage in needs.storages and is_kept and fits


def _check(search: Planned, facts: PlanFacts, wanted: Wanted) -> None:
    """Refuse rows and wishes that a search cannot serve."""
    needs, name = search.needs, f"search={search!r}"
    if facts.storage not in needs.storages:
        places = " or ".join(_STORAGES[storage][0] for storage in needs.storages)
        raise ValueError(
            f"{name} needs rows {places} and takes none {_STORAGES[facts.storage][0]}: use fit "
            "with an array, a sample of the rows, or search='auto'."
        )
    if needs.independent_rows and facts.held_out_by != "rows":
        raise ValueError(
            f"{name} is valid for independent rows only, which {facts.held_out_by} contradicts: "
            "give one row of each group, or use search='auto'."
        )
    if not (needs.groups_and_costs or wanted.single_columns):
        raise ValueError(f"{name} takes neither groups nor costs: use search='auto'.")
    if not needs.repeats and (wanted.compares_sizes or wanted.n_resamples):
        raise ValueError(
            f"{name} is not repeated, as comparing sizes and resampling need it: give "
            "n_features_to_select as a number and n_resamples=0, or ask for fewer features with "
            "search='auto'."
        )


def _estimates(facts: PlanFacts, wanted: Wanted, search: Planned, n_folds: int) -> PlanLine:
    """From which rows sets are estimated."""
    if not wanted.estimates and not wanted.compares_sizes:
        return PlanLine("estimates", "none", "estimate=False")
    if not search.needs.repeats:
        return PlanLine("estimates", "in-sample", f"{search!r} is not repeated")
    if facts.n_rows < 2 * n_folds:
        return PlanLine("estimates", "none", f"fewer than {2 * n_folds} rows")
    parts = f"{facts.n_splits} {_HELD_OUT[facts.held_out_by]}"
    repeated = f"the search is repeated without each of {parts}"
    return PlanLine("estimates", "held-out rows", repeated)


def _rows(facts: PlanFacts) -> PlanLine:
    place, reason = _STORAGES[facts.storage]
    shape = f"{facts.n_rows} x {facts.n_features}, {facts.n_outputs} output(s)"
    return PlanLine("rows", f"{place}, {shape}", reason)


def moments_fit(n_features: int, n_outputs: int, n_folds: int) -> bool:
    """Whether moments of all columns over all folds are within their limit."""
    return n_folds * (1 + n_outputs + n_features) ** 2 <= MOMENT_ENTRIES


def fits_on_device(n_bytes: int, free: float) -> bool:
    """Whether X is kept in the memory of an accelerator that has so many bytes free."""
    return n_bytes <= DEVICE_SHARE * free


def pays_on_device(shape: tuple[int, ...]) -> bool:
    """Whether X on an accelerator is large enough to stay there."""
    return math.prod(shape) > HOST_ENTRIES


def candidates_of(size: int) -> int:
    """Units that elimination starts from."""
    return max(CANDIDATES_FACTOR * size, size + CANDIDATES_MORE)


def folds_of(order: int) -> int:
    """Folds of rows for an order of the filter."""
    return max(FOLDS, 2 * order + 4)


def _moments(facts: PlanFacts, search: Planned, n_folds: int) -> PlanLine:
    """Moments of all columns serve every size at once where they fit and rows are many."""
    if not search.needs.moments:
        return PlanLine("moments", "none", f"{search!r} needs none")
    if facts.storage == "device":
        return PlanLine("moments", "working sets", "the device takes them fast and keeps them")
    if facts.n_rows < facts.n_features or facts.n_rows < n_folds:
        return PlanLine("moments", "working sets", "fewer rows than columns")
    if not moments_fit(facts.n_features, facts.n_outputs, n_folds):
        return PlanLine("moments", "working sets", f"more than {MOMENT_ENTRIES} entries for all")
    return PlanLine("moments", "all columns", f"at most {MOMENT_ENTRIES} entries for all")
