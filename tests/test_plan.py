"""Which search runs, and where its limits stand."""

import ast
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone

from featgrad import FeatureGradientSelector, Knockoffs, MiniBatch
from featgrad.fitting import SEARCHES, Fit
from featgrad.plan import LARGEST_SET, Needs, Plan
from featgrad.search.base import Job, Outcome, Search, Subset, go_on
from featgrad.search.units import Budgets, Units
from golden_shapes import SHAPES

SOURCE = Path(__file__).parents[1] / "src" / "featgrad"

# Searches, and whether moments of all columns are taken.
EXPECTED = {
    "dense_tall": (["WorkingSet"], True),
    "dense_wide_classes": (["WorkingSet"], False),
    "dense_wider_than_a_working_set": (["WorkingSet"], False),
    "csr": (["WorkingSet"], False),
    "several_classes": (["WorkingSet"], True),
    "several_outputs": (["WorkingSet"], True),
    "path": (["WorkingSet"], True),
    "automatic_size": (["WorkingSet"], True),
    "natural_size": (["MiniBatch"], False),
    "groups": (["WorkingSet"], True),
    "costs": (["WorkingSet"], True),
    "kept_and_excluded": (["WorkingSet"], True),
    "many_features": (["MiniBatch"], False),
    "source_wide": (["WorkingSet"], False),
    "source_tall": (["WorkingSet"], True),
    "chunks_few_columns": (["WorkingSet"], True),
    "chunks_many_columns": (["WorkingSet"], False),
}


@pytest.mark.parametrize("name", SHAPES)
def test_plans_of_known_shapes(name: str):
    selector = SHAPES[name]()
    selector.get_support()
    found = selector.plan_
    searches = [type(part.search).__name__ for part in found.parts]
    assert (searches, found.moments_of_all_columns) == EXPECTED[name]


class Wanted(NamedTuple):
    """What a plan is asked for."""

    budgets: list[float]
    search: Search | None
    single: bool
    n_resamples: int

    def plan(self, storage: str, n_features: int, held_out_by: str = "rows") -> Plan:
        """Of 100 rows."""
        of_column = np.arange(n_features) if self.single else np.arange(n_features) // 2
        count = int(of_column.max()) + 1
        units = Units(of_column, np.ones(count), np.zeros(count, bool))
        given = {"estimate": True, "n_resamples": self.n_resamples}
        rng = np.random.RandomState(0)
        fit = Fit(storage, given, self.search, Budgets(units, self.budgets, 0), go_on, rng)
        return fit.plan(n_features, 100, held_out_by=held_out_by)


def wanted(*budgets: float, search=None, single: bool = True, n_resamples: int = 0) -> Wanted:
    return Wanted(list(budgets), search, single, n_resamples)


SMALL, LARGE = SEARCHES
PENALTY = MiniBatch(penalty=1.0)


@pytest.mark.parametrize(
    ("storage", "n_features", "request_", "parts"),
    [
        ("memory", 10_000, wanted(10), [(SMALL, (10,))]),
        ("memory", 10_000, wanted(search=PENALTY), [(PENALTY, ())]),
        ("source", 10_000, wanted(10, 1000), [(SMALL, (10,)), (LARGE, (1000,))]),
        ("memory", 10_000, wanted(1000), [(LARGE, (1000,))]),
        ("memory", 1_000, wanted(900), [(SMALL, (900,))]),
        ("memory", 10_000, wanted(1000, single=False), [(SMALL, (1000,))]),
        ("chunks", 10_000, wanted(1000), [(SMALL, (1000,))]),
        ("memory", 10_000, wanted(10, search=LARGE), [(LARGE, (10,))]),
        ("memory", 10_000, wanted(1000, search=SMALL), [(SMALL, (1000,))]),
    ],
)
def test_search_follows_from_shape_and_parameters(storage, n_features, request_, parts):
    assert list(request_.plan(storage, n_features).parts) == parts


@pytest.mark.parametrize(
    ("facts", "request_", "message"),
    [
        (("memory",), wanted(5, search=LARGE, single=False), "takes neither groups nor costs"),
        (("memory",), wanted(5, search=LARGE, n_resamples=2), "is not repeated"),
        (("memory",), wanted(501, n_resamples=2), r"MiniBatch\(\) is not repeated"),
        (("dask",), wanted(search=Knockoffs()), "needs rows in memory and takes none in partit"),
        (("memory", "groups"), wanted(search=Knockoffs()), "independent rows only, which groups"),
    ],
)
def test_searches_that_do_not_fit_are_refused(facts: tuple, request_: Wanted, message: str):
    storage, *held_out_by = facts
    with pytest.raises(ValueError, match=message):
        request_.plan(storage, 2000, *held_out_by)


class Strongest(Search):
    """A search of one file: the columns that have the largest prices by themselves."""

    needs = Needs(groups_and_costs=False)

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def run(self, job: Job) -> Outcome:
        """The best columns of each size."""
        (prices,) = job.dataset.marginals([job.dataset.whole])
        scores, subsets = self.factor * prices.values, []
        for size in job.budgets.values:
            features = np.sort(np.argsort(-scores)[: int(size)])
            subsets.append(Subset(size, features, scores - np.sort(scores)[-int(size) - 1], []))
        return Outcome(subsets, job.budgets.chosen)


def test_a_search_is_one_class():
    X = np.random.default_rng(0).standard_normal((200, 30))
    y = X[:, 3] - X[:, 17] + 0.1 * X[:, 5]
    selector = FeatureGradientSelector(2, search=Strongest(factor=2.0), random_state=0)
    copy = clone(selector).fit(X, y)
    assert copy.get_support(indices=True).tolist() == [3, 17]
    assert copy.get_params()["search__factor"] == 2.0
    assert copy.learnability_.is_optimistic
    assert "search=Strongest(factor=2.0)" in repr(copy)
    with pytest.raises(ValueError, match=r"Strongest\(factor=2.0\) takes neither groups nor costs"):
        clone(selector).set_params(feature_groups=[[0, 1]]).fit(X, y)
    with pytest.raises(ValueError, match="is not repeated"):
        clone(selector).set_params(n_features_to_select="auto").fit(X, y)


def test_plan_names_the_limit_that_decided():
    assert f"more than {LARGEST_SET}" in str(wanted(1000).plan("memory", 10_000))


def test_held_out_rows_are_part_of_the_plan():
    X = np.random.default_rng(0).standard_normal((300, 8))
    selector = FeatureGradientSelector("auto", path_sizes=[1, 2, 4], random_state=0)
    selector.fit(X, X[:, 0] + X[:, 1])
    assert [budget for budget, _, _ in selector.plan_.held_out] == [1, 2, 4]
    assert "size 2" in str(selector.plan_)


# Numbers that bound work or rounding and change no choice.
HARMLESS = {
    "_AT_ONCE", "_BLOCK_ENTRIES", "_BUDGET_SLACK",
    "_FORMAT", "_ORIGIN_ENTRIES", "_ORIGIN_ROWS", "_PROMPT_S",
    "_ROUNDING", "_SENT_ENTRIES", "SINGLE", "_SLACK", "_SOLVING_STEPS",
    "_SUMS_AT_ONCE", "_FAR", "_LEAST", "_MANY", "_MERGED", "_SMALL", "_TASKS",
    "_HASHED_ENTRIES", "_LONG_PRODUCTS", "_WAITING_ROWS",
    "_BLOCK_COLUMNS", "_BLOCK_ROWS", "_BLOCK_ROWS_DEVICE", "_BLOCK_ROWS_WIDE", "_WIDE",
    "_SMALL_SHARE", "_LONG", "_LANES", "_MAX_FLOATS", "_AT_ONCE_ON_DEVICE",
    # Of standard errors, and of what rows that decide by themselves count in estimates.
    "_REPLICATES", "_MIN_REPLICATES", "_NEGLIGIBLE", "_MAX_NOISE", "_LEAST_LEFT",
    # Of the hash that orders rows and finds copies of them.
    "_HALF", "_LOW", "_MIX", "_NEVER",
    # Of weights that grow, and of the theory of alarms.
    "_LONGEST", "_OVERSHOOT",
    # Of the range of numbers, and of what a message shows.
    "_SMALLEST", "LARGEST_ENTRY", "_LARGEST", "_LARGEST_WEIGHT", "_EXACT",
    "_INEXACT", "_SHOWN", "_DOUBLE", "_LEAST_VARIANCE", "_FAR_FROM_ZERO", "_MOST_GROWTH",
    # Tables of published coefficients, the range of links, and limits that refuse or warn.
    "_KONG_VALIANT", "_MARGIN", "MAX_CLASSES", "_MANY_CLASSES", "_MOST_OUTPUTS",
    "_MOST_CONCENTRATED",
}  # fmt: skip


def numbers(path: Path) -> set[str]:
    """Names of numbers that a module defines."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            literals = [n for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
            if any(isinstance(n.value, int | float) for n in literals):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {t.id for target in targets for t in ast.walk(target)
                          if isinstance(t, ast.Name)}  # fmt: skip
    return found


def test_limits_that_change_a_choice_stand_in_the_plan():
    modules = [
        path for package in ("search", "dataset", "columns", "moments", "online", "math")
        for path in (SOURCE / package).rglob("*.py")
    ]  # fmt: skip
    elsewhere = {
        f"{path.name}: {name}"
        for path in [
            *modules,
            *(SOURCE / f"{name}.py" for name in ("fitting", "selector", "variables")),
        ]
        for name in numbers(path) - HARMLESS
    }
    assert elsewhere == set()
