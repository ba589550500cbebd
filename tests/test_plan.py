"""Which search runs, and where its limits stand."""

import ast
from pathlib import Path

import numpy as np
import pytest

from featgrad import FeatureGradientSelector
from featgrad.plan import LARGEST_SET, Facts, Wanted, plan
from golden_shapes import SHAPES

SOURCE = Path(__file__).parents[1] / "src" / "featgrad"

# Search, sizes that are streamed, and whether moments of all columns are taken.
EXPECTED = {
    "dense_tall": ("working_set", (), True),
    "dense_wide_classes": ("working_set", (), False),
    "dense_wider_than_a_working_set": ("working_set", (), False),
    "csr": ("working_set", (), False),
    "several_classes": ("working_set", (), True),
    "several_outputs": ("working_set", (), True),
    "path": ("working_set", (), True),
    "automatic_size": ("working_set", (), True),
    "natural_size": ("penalty", (), False),
    "groups": ("working_set", (), True),
    "costs": ("working_set", (), True),
    "kept_and_excluded": ("working_set", (), True),
    "many_features": ("stream", (600.0,), False),
    "source_wide": ("working_set", (), False),
    "source_tall": ("working_set", (), True),
    "chunks_few_columns": ("working_set", (), True),
    "chunks_many_columns": ("working_set", (), False),
}


@pytest.mark.parametrize("name", SHAPES)
def test_plans_of_known_shapes(name: str):
    selector = SHAPES[name]()
    selector.get_support()
    found = selector.plan_
    assert (found.search, found.streamed_budgets, found.moments_of_all_columns) == EXPECTED[name]


def wanted(*budgets: float, search: str = "auto", single: bool = True) -> Wanted:
    return Wanted(search, budgets, single, 4, False, True, 0)


@pytest.mark.parametrize(
    ("facts", "request_", "search", "streamed"),
    [
        (Facts("memory", 100, 10_000, 1), wanted(10), "working_set", ()),
        (Facts("memory", 100, 10_000, 1), wanted(), "penalty", ()),
        (Facts("source", 100, 10_000, 1), wanted(10, 1000), "working_set", (1000,)),
        (Facts("memory", 100, 10_000, 1), wanted(1000), "stream", (1000,)),
        (Facts("memory", 100, 1_000, 1), wanted(900), "working_set", ()),
        (Facts("memory", 100, 10_000, 1), wanted(1000, single=False), "working_set", ()),
        (Facts("chunks", 100, 10_000, 1), wanted(1000), "working_set", ()),
        (Facts("memory", 100, 10_000, 1), wanted(10, search="stream"), "stream", (10,)),
        (Facts("memory", 100, 10_000, 1), wanted(1000, search="working_set"), "working_set", ()),
    ],
)
def test_search_follows_from_shape_and_parameters(facts, request_, search, streamed):
    found = plan(facts, request_)
    assert (found.search, found.streamed_budgets) == (search, streamed)


@pytest.mark.parametrize(
    ("home", "request_", "message"),
    [("chunks", wanted(5, search="stream"), "search='stream' takes neither groups nor costs")],
)
def test_searches_that_do_not_fit_are_refused(home: str, request_: Wanted, message: str):
    with pytest.raises(ValueError, match=message):
        plan(Facts(home, 100, 1000, 1), request_)


def test_plan_names_the_limit_that_decided():
    found = plan(Facts("memory", 100, 10_000, 1), wanted(1000))
    assert f"more than {LARGEST_SET}" in str(found)


def test_held_out_rows_are_part_of_the_plan():
    X = np.random.default_rng(0).standard_normal((300, 8))
    selector = FeatureGradientSelector("auto", path_sizes=[1, 2, 4], random_state=0)
    selector.fit(X, X[:, 0] + X[:, 1])
    assert [budget for budget, _, _ in selector.plan_.held_out] == [1, 2, 4]
    assert "size 2" in str(selector.plan_)


@pytest.mark.parametrize(
    "parameter", [{"penalty": 2.0}, {"link": "probit"}, {"learning_rate": 0.5}, {"tol": 0.1},
                  {"accumulate": 2}, {"batch_size": 10}, {"n_epochs": 2}],
)  # fmt: skip
def test_ignored_parameters_are_named(parameter: dict):
    X = np.random.default_rng(0).standard_normal((60, 5))
    (name,) = parameter
    with pytest.warns(UserWarning, match=f"{name}=.* is ignored by search 'working_set'") as found:
        FeatureGradientSelector(2, **parameter).fit(X, X[:, 0])
    assert [warning.filename for warning in found] == [__file__]


# Numbers that bound work or rounding and change no choice.
HARMLESS = {
    "_AHEAD", "_AT_ONCE", "_BINS", "_BLOCK_ENTRIES", "_BUDGET_SLACK", "_COPIED_AT_ONCE",
    "_COUNTINGS", "_DRAWN_AT_ONCE", "_ENTRIES", "_FAR_ENTRIES", "_FENCE_BYTES", "_FENCE_PARTS",
    "_FEWEST",
    "_FORMAT", "_ORIGIN_ENTRIES", "_ORIGIN_ROWS", "_PROMPT_S",
    "_ROUNDING", "_SENT_ENTRIES", "SINGLE", "_SLACK", "_SOLVING_STEPS", "_SQUARINGS",
    "_SUMS_AT_ONCE", "FAR", "_LEAST", "_MANY", "_MERGED", "_SMALL", "_TASKS", "_MOST_SWEEPS",
    "_TOLERANCE",
    # Of the hash that orders rows and finds copies of them.
    "_HALF", "_LOW", "_MIX", "_NEVER",
    # Of weights that grow, and of the theory of alarms.
    "_LONGEST", "_OVERSHOOT",
    # Of the range of numbers, and of what a message shows.
    "_SMALLEST", "_LARGEST", "_LOST", "_SHOWN",
    # Tables of published coefficients, the range of links, and a limit that refuses.
    "_KONG_VALIANT", "_MARGIN", "MAX_CLASSES",
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
        path for package in ("search", "dataset", "preprocess", "knockoffs", "online", "math")
        for path in (SOURCE / package).rglob("*.py")
    ]  # fmt: skip
    elsewhere = {
        f"{path.name}: {name}"
        for path in [*modules, SOURCE / "fitting.py", SOURCE / "selector.py"]
        for name in numbers(path) - HARMLESS
    }
    assert elsewhere == set()
