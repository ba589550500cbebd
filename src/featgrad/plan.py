"""Every limit that changes a choice, and the plan that says which search runs because of them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# The working set. Of two numbers one is at least, the other for each feature of the set.
WORKING_SET, WORKING_SET_FACTOR = 256, 3  # columns of the first one
ENTERING, ENTERING_FACTOR = 128, 1  # columns that enter in a round of pricing
# A column enters if it is worth more than noise: than the column of noise whose rank is this share
# of the columns that may enter.
ENTERING_NOISE = 0.25
ROUNDS = 2  # of pricing at most; fewer where no column outside is worth more than chance
# A rank among columns of noise that the best of them passes in one of twenty cases: what is worth
# more outside the set is more than chance.
RARE_RANK = 0.35
# Units that elimination starts from: for each unit of the set, and at least so many more.
CANDIDATES_FACTOR, CANDIDATES_MORE = 2, 64
# The largest ridge of elimination, as a multiple of the one that predicts best from the columns
# that explain most by themselves. Where it is below what the filter shrinks by, elimination starts
# from all units of the working set.
RIDGE_FACTOR = 30.0
RIDGES = np.geomspace(1e-3, 10.0, 25)  # compared, as multiples of the mean variance of columns
RIDGE_FREEDOM = 0.5  # the share of rows that a fit may use up
ELIMINATED_AT_ONCE = 16  # one in this many of the units that are present

# Swaps after elimination: rows for each unit that they need, the same where swaps have to end in a
# complete set, and their ridge.
SWAP_ROWS_PER_UNIT, COMPLETE_ROWS_PER_UNIT, SWAP_RIDGE = 20, 5, 0.01
# What forward selection brings beyond the set, relative to chance, from which swaps begin with it.
FORWARD_MARGIN = 1.5
# Rows for each column that it takes to find those which fit noise only, and to choose the last
# groups by least squares.
FILL_ROWS_PER_UNIT = 2

# The descent.
STEP, MOMENTUM = 1.0, 0.8
# Sharpness of the mask, step by step: in the first descent, and after columns have entered.
FIRST_SHARPNESS, NEXT_SHARPNESS = np.geomspace(2, 12, 6), np.geomspace(3, 20, 4)
FOLD_ORDERS = 4  # orders of the folds that take turns

CHEBYSHEV_RESIDUAL = 0.03  # 1 - p(x) that the filter leaves at most on its interval [a, 1]
SCALE_FACTOR = 2.4  # the filter's scale, as a multiple of the top eigenvalue of a set

# Large sets, searched over all columns while rows are streamed.
# Largest set for which moments of a working set are kept, and of how many times as many columns.
LARGEST_SET, LARGE_FACTOR = 500, 3
BATCH_STEPS, BATCH_ROWS, COLUMNS_PER_BATCH_ROW = 40, 1000, 100
BATCH_STEP, BATCH_MOMENTUM, BATCH_SCALE, BATCH_SHARPNESS = 0.2, 0.9, 3.6, (2.0, 20.0)
# Share of all steps after which rows are nearly forgotten, and the least share that is kept.
BATCH_WINDOW, BATCH_LEAST_SHARE = 0.25, 0.1
BATCH_SLACK = 0.01  # relative error of what a mask adds up to
PENALTY_WINDOW = (
    20  # batches after which rows are nearly forgotten where a penalty decides the size
)
PENALTY_MEMORY = 1 / 3  # of the past, in the moving average whose relative change ends that search

# Rows.
FOLDS = 12  # of rows at least; twice the filter's order and four more for high orders
MOST_FOLDS = 100  # that a splitter may make of the rows: moments are kept of each
HELD_OUT_GROUPS = 4  # groups of folds that are held out in turn to choose a size
# Standard errors by which held-out rows must be predicted better than noise would be, or nothing is
# chosen.
NOISE_ERRORS = 2.5
# Sizes whose median stands for the one in their middle, and how far below the best correlation a
# size still suffices: by one standard error, but at most by this share of it. Where the curve is
# flat, half or twice of that would decide otherwise: the mean of all three sizes is chosen.
SMOOTHED_SIZES, SIZE_TOLERANCE, TOLERANCE_FACTORS = 5, 0.01, np.array([0.5, 1.0, 2.0])
# Rows for each column that least squares needs; fewer give a lower bound of what columns explain.
ROWS_PER_COLUMN = 2
# Ridge of models that predict held-out rows, as a sum of squares: that of a logistic model with
# C = 1.
HELD_OUT_RIDGE = 4.0
MOMENT_ENTRIES = 1 << 24  # of moments of all columns, over all folds, up to which these are kept
# Entries of rows that came in chunks which are kept, and the fewest rows.
KEPT_ENTRIES, FEWEST_KEPT = 1 << 25, 64
# Most rows of many that estimates are made from: to a hundredth of the variance. The same of a
# matrix in memory, whose rows need not be read again, and of the spectrum of a covariance.
ESTIMATE_ROWS, ESTIMATE_ROWS_IN_MEMORY, SPECTRUM_ROWS = 10_000, 50_000, 10_000
# Lanczos steps and random probes of that spectrum: an accuracy of a few per cent suffices.
SPECTRUM_STEPS, SPECTRUM_PROBES = 14, 32
# Distinct rows that distinguish copies of a row from rows that agree by chance: at most, at least.
COPY_ROWS, FEWEST_COPY_ROWS = 1000, 8
# Bytes of a file that the command loads and fits as a whole, and of the sample that it takes of a
# larger one for gains, warnings and the report.
LOADED_BYTES, LOADED_SAMPLE_BYTES = 1 << 27, 1 << 25
EXACT_ORDER_ROWS = 1 << 17  # rows whose random order is exact; of more, a few share a place

# Streams.
# Rows that are learned from at once, after which features are chosen, and after which columns enter
# the working set; fewer at first.
ONLINE_BLOCK, ONLINE_DECISION, ONLINE_ENTRY = 100, 200, 500
SHORTEST_HALF_LIFE = 250.0  # that is suggested; others are twice as long each
# Half-lives of learning: at first, and after an alarm, when the change may still go on.
LEARNING_HALF_LIVES, ALARM_LEARNING = 4, 5
# Recent rows, the past of columns that enter the working set: half-lives and entries at most.
RECENT_HALF_LIVES, RECENT_ENTRIES = 2, 1 << 22
ONLINE_RIDGE = 0.1  # as a share of the largest eigenvalue of the columns
# By how many standard errors a column that enters must be worth more than one that leaves: after
# learning, and while learning after an alarm; at first by none.
ONLINE_ADVANTAGE, ALARM_ADVANTAGE = 3.5, 1.0
# Alarms: half-lives that errors and the dependence of rows are remembered for, blocks before the
# first alarm, the CUSUM's reference value, its increase for the uncertain mean in standard errors,
# and what a single block counts at most, in standard deviations.
ALARM_MEMORY, ALARM_WARM_UP = 4, 20
ALARM_REFERENCE, ALARM_UNCERTAINTY, ALARM_LARGEST = 0.5, 1.5, 3.0
# How much worse an earlier set may predict than the present one until that counts as a shift, in
# the same units: the first sets of a stream are a little worse, although nothing has changed.
SHIFT_REFERENCE = 1.0
ALARM_HALF_LIVES = 3  # that rows before an alarm are older for it, at most
# Events that are remembered, and decisions: at first all, later every second one and so on.
HISTORY_LENGTH, TIMELINE_LENGTH = 10_000, 256

# Share of an accelerator's free memory up to which X is kept there: sums and copies of some columns
# need the rest. A larger X is copied block by block, whenever its rows are visited.
DEVICE_SHARE = 0.5
HOST_ENTRIES = 1 << 16  # up to which X there is copied to the host, where fits of it are faster
DEVICE_BLOCKS = 32  # blocks of rows that it takes value and gradient over: of rows in distinct ones

# Targets. Whole numbers from 0 or 1 on without gaps are taken for classes up to this many values,
# others for numbers, unless held-out rows contradict; beyond the last limit they do not.
MANY_CLASSES, MOST_CLASSES, LEAST_ROWS_PER_CLASS = 20, 100, 3
FEW_CLASSES = 5  # up to this many values without gaps are classes, unless these predict nothing
# What predicts held-out rows: rows at most and at least, folds, columns, and the ridge.
TASK_ROWS, FEWEST_TASK_ROWS, TASK_FOLDS, TASK_COLUMNS, TASK_RIDGE = 1000, 30, 4, 32, 0.5
# Standard errors by which predictions have to be better than none, those of few values more.
TASK_ERRORS, FEW_CLASS_ERRORS = 1.5, 3.0
# By how much classes have to be better: as a share of what they explain, or of what is left.
CLASS_ADVANTAGE = 0.4

# Columns of tables: most different texts of a column that is encoded; texts of which at least this
# share differ, in at least so many rows, are like an identifier and left out.
MOST_TEXTS, ID_LIKE_SHARE, ID_LIKE_ROWS = 1000, 0.9, 20
# Words among numbers or dates count as missing up to this share, and up to so many in any case.
STRAY_SHARE, FEW_STRAYS = 0.1, 20
# That a value is missing is a feature where, in at least so many rows, it says more of the target
# than the best flag of noise does in this share of all tables; entries of a file that show it, and
# values of a target, at most, that are looked at one by one.
FLAG_ROWS, FLAG_CHANCE, FLAG_ENTRIES, FLAG_VALUES = 5, 0.01, 1 << 20, 20

# Interquartile ranges from the quartiles to the fences that "robust" clips at, and to cells that
# are far off. These are named where they make up this share of their column's variance, or this
# one if all are one fill value, in this share of the rows at most.
FENCE_REACH, FAR_REACH = 3.0, 10.0
FAR_VARIANCE, FAR_FILL_VARIANCE, FAR_ROWS = 0.97, 0.5, 0.05
# Entries of the rows that quartiles are taken from, and the fewest rows; of rows that are not in
# memory, bytes of the sample that these are taken from, and partitions that it comes from.
FENCE_ENTRIES, FENCE_ROWS, FENCE_BYTES, FENCE_PARTS = 1 << 20, 64, 1 << 24, 32

# A column that varies by no more than this share of its size may count as constant, and is shifted
# where that can be done; the same of sparse columns and in single precision.
LOST_SHARE, LOST_SHARE_SINGLE = 1e-11, 1e-5

# Sizes.
# Features up to which "auto" tries every size, and sizes that it tries of more; at most one for
# every two rows.
EVERY_SIZE = 30
AUTO_SIZES = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300)
# Larger sizes than each of these are tried if one of the two largest before them is the best.
AUTO_STAGES = (30, 100)
# Sizes that a report shows next to the one that was asked for.
CURVE_SIZES = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300)

# Constructed features.
# Candidates of each operation that are built and priced exactly, and those that enter at most;
# knots of a column; rows that variances of products are first taken from, unless a column is large
# in a smaller share of them.
BUILT, CONSTRUCTED, KNOTS, VARIANCE_ROWS, LARGE_SHARE = 256, 256, 8, 500, 0.1
LONGEST_LAG = 200
NEAR_ZERO = 0.2  # mean of a column, in deviations, up to which products are of the column as it is
# Multiplications up to which all pairs are priced, on the host and on an accelerator; of more,
# those with one of the best columns.
PAIR_WORK, DEVICE_PAIR_WORK = 1 << 38, 1 << 44
PARENTS = 1000  # those, where they are asked for and in rounds after the first
DENSE_ENTRIES = 1 << 26  # of an encoded data frame, up to which its columns can be curved
# Features whose residuals are priced where held-out rows choose the number, and rows for each.
CONSTRUCTION_SIZE, ROWS_PER_CONSTRUCTION = 30, 20

# Knockoffs.
# Largest number of columns, as their covariance is kept. Of more, a share of the rows chooses some:
# so many for each row of the others.
KNOCKOFF_COLUMNS, SCREENING_ROWS, SCREENED_PER_ROW = 5000, 1 / 3, 3.0
# Knockoffs that choose by themselves, and the share of them that has to agree.
KNOCKOFF_COPIES, KNOCKOFF_MAJORITY = 20, 1 / 2
# Where they choose none: the share of the rate that p-values of single features keep, and the least
# share of a column's variance that others do not explain.
TESTED_RATE, LEAST_OWN_VARIANCE = 0.75, 1e-3
# Steps towards the knockoffs of maximum entropy, and the gain per column that ends them.
ENTROPY_STEPS, ENTROPY_GAIN = 50, 1e-4
# The lasso's path: penalties, the last as a share of the first, points without improvement that end
# it, and active columns that end it as a share of the rows.
PATH_POINTS, PATH_END, PATH_PATIENCE, PATH_SHARE = 50, 0.01, 5, 0.5
PATH_TOLERANCE = 1e-3  # of the duality gap relative to the squares of the outputs


def rows_to_price(n_columns: int) -> int:
    """Rows that constructed features are priced with on the host; up to twice as many in memory."""
    return max(ESTIMATE_ROWS, KEPT_ENTRIES // max(n_columns, BUILT))


class Needs(NamedTuple):
    """What a search declares: which rows and which wishes it can serve."""

    # Where rows may be: in memory, read again block by block, kept from chunks, visited on an
    # accelerator, or in partitions that workers of Dask compute or read.
    storages: tuple[str, ...] = ("memory", "source", "chunks", "device", "dask")
    groups_and_costs: bool = True  # several columns may be one unit, and units differ in cost
    moments: bool = False  # it asks for moments of columns, which can be kept of all of them
    streams: bool = False  # it passes over the rows batch by batch
    # It is repeated without held-out folds, so that these can choose a size and estimate what a set
    # explains, and on halves of the rows.
    repeats: bool = False
    independent_rows: bool = False  # it is valid only where no rows belong together
    largest: float = math.inf  # set that "auto" leaves to it, where another search can find more


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

    search: Any
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
    def search(self) -> Any:
        """The search for the sets, or for the smaller ones of a path."""
        return self.parts[0].search

    def __str__(self) -> str:
        width = max(len(decision.subject) for decision in self.decisions)
        lines = [f"{d.subject:{width}}  {d.choice} ({d.reason})" for d in self.decisions]
        for budget, correlation, error in self.held_out:
            found = f"correlation {correlation:.3f} +- {error:.3f} on held-out rows"
            lines.append(f"{'size ' + format(budget, 'g'):{width}}  {found}")
        return "\n".join(lines)


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
