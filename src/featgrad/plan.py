"""Every limit that changes a choice, and which search runs because of them.

`plan` is a pure function of the shape of the data and of the selector's parameters. The selector
runs what it says and keeps it as `plan_`; `featgrad select --explain` prints it.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

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
ROOM = 2.4

# Large sets, searched over all columns while rows are streamed.
# Largest set for which moments of a working set are kept, and of how many times as many columns.
LARGEST_SET = 500
STREAM_FACTOR = 3
STREAM_STEPS = 40
STREAM_BATCH_ROWS = 1000
STREAM_COLUMNS_PER_ROW = 100
STREAM_SHARPNESS = 2.0, 20.0
STREAM_STEP = 0.2
STREAM_MOMENTUM = 0.9
STREAM_ROOM = 3.6
# Share of all steps after which rows are nearly forgotten, and the least share that is kept.
STREAM_WINDOW = 0.25
STREAM_LEAST_SHARE = 0.1
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
NOTHING_ERRORS = 2.5
# Sizes whose median stands for the one in their middle, and how far below the best correlation a
# size still suffices: by one standard error, but at most by this share of it. Where the curve is
# flat, half or twice of that would decide otherwise: the mean of all three sizes is chosen.
SMOOTHED_SIZES = 5
SIZE_TOLERANCE = 0.01
TOLERANCE_FACTORS = np.array([0.5, 1.0, 2.0])
# Rows for each column that least squares needs; fewer give a lower bound of what columns explain.
ROWS_PER_COLUMN = 2
# Ridge of the held-out judge, as a sum of squares: that of a logistic model with C = 1.
JUDGE_RIDGE = 4.0
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
# need the rest. A larger X is sent block by block, whenever its rows are visited.
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
# Sizes that a report shows beside the one that was asked for.
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


# Parameters.
SEARCHES = ("auto", "working_set", "stream", "penalty")
# Searches that use a parameter; others ignore it, with a warning.
USED_BY = {
    "penalty": ("penalty",),
    "link": ("penalty",),
    "learning_rate": ("penalty",),
    "tol": ("penalty",),
    "accumulate": ("penalty",),
    "batch_size": ("penalty", "stream"),
    "n_epochs": ("penalty", "stream"),
}


class Facts(NamedTuple):
    """What a plan depends on.

    Attributes
    ----------
    home : {"memory", "source", "chunks", "device", "dask"}
        Where the rows are: in memory, read again block by block, kept from chunks, visited on an
        accelerator, or in partitions that workers of Dask compute or read.
    n_rows, n_features, n_outputs : int
        Shape of the data.
    n_splits : int
        How often rows are held out.
    held_out_by : {"rows", "groups", "cv"}
        What is held out: rows by themselves, groups of them, or parts that a splitter makes.
    """

    home: str
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
_HOMES = {
    "memory": ("in memory", "X is an array"),
    "source": ("read block by block", "fit_source"),
    "chunks": ("from chunks", "partial_fit keeps a sample and exact sums"),
    "device": ("on an accelerator", "X is there, or device sends it"),
    "dask": ("in partitions", "workers of Dask have or read them"),
}


class Wanted(NamedTuple):
    """What the parameters ask for.

    Attributes
    ----------
    search : {"auto", "working_set", "stream", "penalty"}
        The parameter of that name.
    budgets : tuple of float
        Sizes or costs, rising; empty where a penalty decides the size.
    single_columns : bool
        Whether features are chosen one by one, at the same cost.
    order : int
        Of the filter.
    compares_sizes : bool
        Whether held-out rows choose among the sizes.
    estimates : bool
        Whether held-out rows judge the sets.
    n_resamples : int
        Choices from half the rows.
    fdr : float or None
        False discovery rate, where that decides the size.
    """

    search: str
    budgets: tuple[float, ...]
    single_columns: bool
    order: int
    compares_sizes: bool
    estimates: bool
    n_resamples: int
    fdr: float | None = None


class Decision(NamedTuple):
    """One line of a plan: what was decided, and because of what."""

    subject: str
    choice: str
    reason: str


class HeldOut(NamedTuple):
    """Correlation of prediction and target on held-out rows, for one budget."""

    budget: float
    correlation: float
    standard_error: float


@dataclass(frozen=True)
class Plan:
    """Which search runs, on what, and why.

    Attributes
    ----------
    search : {"working_set", "stream", "penalty", "knockoffs"}
        The search for the sets, or for the smaller ones of a path.
    streamed_budgets : tuple of float
        Sizes that are searched for by "stream", over all columns.
    n_folds : int
        Folds of rows.
    moments_of_all_columns : bool
        Whether moments of all columns are taken once, instead of those of working sets.
    decisions : tuple of Decision
        The same in words, with the limits that decided.
    held_out : tuple of HeldOut
        What held-out rows said of each budget, where they chose the size.
    held_out_by : {"rows", "groups", "cv"}
        What is held out: rows by themselves, groups of them, or parts that a splitter makes.
    """

    search: str
    streamed_budgets: tuple[float, ...]
    n_folds: int
    moments_of_all_columns: bool
    decisions: tuple[Decision, ...]
    held_out: tuple[HeldOut, ...] = ()
    held_out_by: str = "rows"

    def __str__(self) -> str:
        width = max(len(decision.subject) for decision in self.decisions)
        lines = [f"{d.subject:{width}}  {d.choice} ({d.reason})" for d in self.decisions]
        for budget, correlation, error in self.held_out:
            found = f"correlation {correlation:.3f} +- {error:.3f} on held-out rows"
            lines.append(f"{'size ' + format(budget, 'g'):{width}}  {found}")
        return "\n".join(lines)


def plan(facts: Facts, wanted: Wanted) -> Plan:
    """Decide which search runs."""
    n_folds = folds_of(wanted.order)
    search, reason = _search(facts, wanted)
    streamed = _streamed(facts, wanted, search)
    moments = _moments(facts, search, n_folds)
    decisions = [Decision("search", search, reason), _rows(facts)]
    if search == "working_set":
        decisions += _working_set(facts, wanted, streamed)
        decisions.append(moments)
    if streamed and search != "stream":
        sizes = ", ".join(f"{budget:g}" for budget in streamed)
        limit = f"sets above {LARGEST_SET} of {facts.n_features} features"
        decisions.append(Decision("search of large sets", f"stream for {sizes}", limit))
    if search == "knockoffs":
        decisions += _knockoffs(facts)
    if wanted.compares_sizes:
        groups = f"{facts.n_splits} {_HELD_OUT[facts.held_out_by]} are held out in turn"
        tried = f"one of {len(wanted.budgets)} up to {wanted.budgets[-1]:g}"
        decisions.append(Decision("size", tried, groups))
    decisions.append(_estimates(facts, wanted, search, n_folds))
    if wanted.n_resamples:
        halves = f"n_resamples={wanted.n_resamples}"
        decisions.append(Decision("stability", "complementary halves of the folds", halves))
    planned = search, streamed, n_folds, moments.choice == "all columns", tuple(decisions)
    return Plan(*planned, held_out_by=facts.held_out_by)


def _search(facts: Facts, wanted: Wanted) -> tuple[str, str]:
    if wanted.fdr is not None:
        if facts.home != "memory":
            raise ValueError(
                f"fdr={wanted.fdr!r} needs all rows in the host's memory to make knockoffs of them "
                f"and takes none {_HOMES[facts.home][0]}: use fit with an array, or a sample."
            )
        if facts.held_out_by != "rows":
            raise ValueError(
                f"fdr={wanted.fdr!r} is kept for independent rows only, and {facts.held_out_by} "
                "says that they are not: give one row of each group, or choose by "
                "n_features_to_select."
            )
        return "knockoffs", f"fdr={wanted.fdr:g} decides the size"
    if not wanted.budgets:
        if facts.home == "dask":
            raise ValueError(
                "search='penalty' takes rows one after the other, which Dask divides: use "
                "search='auto', or fit_source."
            )
        return "penalty", "search='penalty': the penalty decides the size"
    if wanted.search == "stream" and (facts.home == "chunks" or not wanted.single_columns):
        raise ValueError(
            "search='stream' takes neither groups nor costs nor rows from partial_fit: use "
            "search='auto'."
        )
    if wanted.search != "auto":
        return wanted.search, f"search={wanted.search!r}"
    if len(_large(facts, wanted)) == len(wanted.budgets):
        return "stream", (
            f"{wanted.budgets[0]:g} features are more than {LARGEST_SET}, the largest set for "
            "which a working set is kept"
        )
    return "working_set", f"sets of up to {LARGEST_SET} features or a limited budget"


def _estimates(facts: Facts, wanted: Wanted, search: str, n_folds: int) -> Decision:
    """On which rows sets are judged."""
    if not wanted.estimates and not wanted.compares_sizes:
        return Decision("estimates", "none", "estimate=False")
    if search != "working_set":
        return Decision("estimates", "rows that chose", f"search {search!r} is not repeated")
    if facts.n_rows < 2 * n_folds:
        return Decision("estimates", "none", f"fewer than {2 * n_folds} rows")
    parts = f"{facts.n_splits} {_HELD_OUT[facts.held_out_by]}"
    repeated = f"the search is repeated without each of {parts}"
    return Decision("estimates", "held-out rows", repeated)


def _large(facts: Facts, wanted: Wanted) -> tuple[float, ...]:
    """Budgets for so many single features that no working set is kept."""
    too_few = facts.n_features <= STREAM_FACTOR * LARGEST_SET
    if facts.home == "chunks" or not wanted.single_columns or too_few:
        return ()
    return tuple(budget for budget in wanted.budgets if budget > LARGEST_SET)


def _streamed(facts: Facts, wanted: Wanted, search: str) -> tuple[float, ...]:
    is_auto = wanted.search == "auto" and search == "working_set"
    streamed = wanted.budgets if search == "stream" else _large(facts, wanted) if is_auto else ()
    if streamed and (wanted.compares_sizes or wanted.n_resamples):
        raise ValueError(
            f"{streamed[-1]:g} features are too many to compare sizes or to resample: ask for "
            "fewer, or leave n_features_to_select='auto' and n_resamples."
        )
    return streamed


def _rows(facts: Facts) -> Decision:
    place, reason = _HOMES[facts.home]
    shape = f"{facts.n_rows} x {facts.n_features}, {facts.n_outputs} output(s)"
    return Decision("rows", f"{place}, {shape}", reason)


def _working_set(facts: Facts, wanted: Wanted, streamed: tuple[float, ...]) -> list[Decision]:
    largest = max(budget for budget in wanted.budgets if budget not in streamed)
    size = min(facts.n_features, max(WORKING_SET, int(WORKING_SET_FACTOR * largest)))
    limits = f"at least {WORKING_SET}, {WORKING_SET_FACTOR} per feature"
    decisions = [Decision("first working set", f"up to {size} units", limits)]
    if size < facts.n_features:
        rounds = f"up to {ROUNDS} rounds over all {facts.n_features} columns"
        decisions.append(Decision("pricing", rounds, "the working set has fewer columns"))
    else:
        decisions.append(Decision("pricing", "certificate only", "the working set has all columns"))
    return decisions


def _knockoffs(facts: Facts) -> list[Decision]:
    agree = f"above {KNOCKOFF_MAJORITY:.0%} of them have to agree; p-values where they choose none"
    decisions = [Decision("knockoffs", f"{KNOCKOFF_COPIES} copies", agree)]
    if facts.n_features > KNOCKOFF_COLUMNS:
        part = f"{SCREENING_ROWS:.0%} of the rows, which are not used again"
        decisions.append(Decision("screening", part, f"more than {KNOCKOFF_COLUMNS} features"))
    return decisions


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


def _moments(facts: Facts, search: str, n_folds: int) -> Decision:
    """Moments of all columns serve every size at once where they fit and rows are many."""
    if search != "working_set":
        return Decision("moments", "none", f"search {search!r} needs none")
    if facts.home == "device":
        return Decision("moments", "working sets", "the device takes them fast and keeps them")
    if facts.n_rows < facts.n_features or facts.n_rows < n_folds:
        return Decision("moments", "working sets", "fewer rows than columns")
    if not moments_fit(facts.n_features, facts.n_outputs, n_folds):
        return Decision("moments", "working sets", f"more than {MOMENT_ENTRIES} entries for all")
    return Decision("moments", "all columns", f"at most {MOMENT_ENTRIES} entries for all")
