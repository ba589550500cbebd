"""The way from `fit` to the rows: short enough to be read from top to bottom."""

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType

import pytest

import featgrad
from featgrad import FeatureGradientSelector
from golden_cases import numbers

PACKAGE = featgrad.__file__.removesuffix("__init__.py")
# At most so many modules are entered, and so many calls lie between `fit` and a module.
MOST_MODULES = 36
MOST_CALLS = {"search/descent.py": 7, "search/swaps.py": 7}
MOST_CALLS_ANYWHERE = 14


@cache
def label(code: CodeType) -> str | None:
    """Module and name of a function of the package; comprehensions are part of theirs."""
    if not code.co_filename.startswith(PACKAGE) or code.co_name.endswith(("comp>", "genexpr>")):
        return None
    return f"{code.co_filename.removeprefix(PACKAGE)}: {code.co_name}"


def own_stacks(run: Callable[[], object]) -> set[tuple[str, ...]]:
    """Calls of the package's functions while something runs, the outermost first."""
    found = set()

    def watch(frame: FrameType | None, event: str, _: object) -> None:
        if event != "call" or frame is None or label(frame.f_code) is None:
            return
        stack = []
        while frame is not None:
            stack.append(label(frame.f_code))
            frame = frame.f_back
        found.add(tuple(filter(None, reversed(stack))))

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture(scope="module", params=[("auto", 10), (5, 1200)], ids=["auto", "wide"])
def stacks(request: pytest.FixtureRequest) -> dict[str, tuple[str, ...]]:
    size, n_columns = request.param
    selector, rows = FeatureGradientSelector(size, random_state=0), numbers(200, n_columns)
    selector.fit(*rows)  # imports what it needs
    by_module = defaultdict(tuple)
    for stack in own_stacks(lambda: selector.fit(*rows)):
        module = stack[-1].split(":")[0]
        by_module[module] = max(by_module[module], stack, key=len)
    return by_module


def test_few_modules_are_entered(stacks):
    # Before scikit-learn 1.9, the callbacks of sklearn_compat.py are those of another package.
    assert len(stacks.keys() - {"_support/sklearn_compat.py"}) <= MOST_MODULES, sorted(stacks)


@pytest.mark.parametrize("module", MOST_CALLS)
def test_few_calls_lie_between_fit_and_the_search(stacks, module: str):
    assert stacks[module][0] == "selector.py: fit"
    assert len(stacks[module]) - 1 <= MOST_CALLS[module], stacks[module]


def test_no_call_is_far_from_fit(stacks):
    deepest = max(stacks.values(), key=len)
    assert len(deepest) - 1 <= MOST_CALLS_ANYWHERE, deepest
