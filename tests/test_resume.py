"""A fit that is killed and started again ends as if it had not been."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from featgrad import FeatureGradientSelector, plan
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.readers import open_source
from searches import with_search

N_BLOCKS = 3
# Passes, where the products of all columns can be kept and where they are too many.
PASSES = {"few columns": 2, "many columns": 6}
# The first block is looked at to tell the source from others.
PLACES = [(kind, left) for kind in PASSES for left in range(1 + N_BLOCKS * PASSES[kind])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fit.npz"


@pytest.fixture(autouse=True)
def at_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkpoint, "every_s", 0.0)


@pytest.fixture
def n_passes(kind: str, monkeypatch: pytest.MonkeyPatch) -> int:
    if kind == "many columns":
        monkeypatch.setattr(plan, "MOMENT_ENTRIES", 0)
    return PASSES[kind]


class Breaking:
    """A source whose reading breaks off after some blocks."""

    def __init__(self, source, left: int) -> None:
        self._source, self._left, self.read = source, left, 0

    def __getattr__(self, name):
        return getattr(self._source, name)

    def __iter__(self):
        for block in self._source:
            if self._left == 0:
                raise RuntimeError("killed")
            self._left -= 1
            self.read += 1
            yield block


def rows(container=np.asarray, *, missing: bool = False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    X[:, 1::2] *= rng.random((200, 6)) < 0.5
    y = X[:, 1] - X[:, 4] + 0.5 * rng.standard_normal(200)
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    weight = rng.integers(0, 3, 200).astype(float)
    return open_source(container(X), target=y, weight=weight, missing="nan", block_rows=80)


def select(**options) -> FeatureGradientSelector:
    few = {"n_features_to_select": 2, "max_iter": 1, "random_state": 0}
    return with_search(**(few | options))


def assert_same(one: FeatureGradientSelector, other: FeatureGradientSelector) -> None:
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    np.testing.assert_array_equal(one.scores_, other.scores_)
    assert one.learnability_ == other.learnability_
    if one.stability_ is not None:
        np.testing.assert_array_equal(one.stability_.frequencies, other.stability_.frequencies)


def break_off(selector: FeatureGradientSelector, source, path: Path, left: int) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        selector.fit_source(Breaking(source, left), path)


@pytest.mark.parametrize(("kind", "left"), PLACES)
def test_ends_alike_wherever_it_broke_off(path: Path, n_passes: int, left: int):
    whole = select().fit_source(rows())
    break_off(select(), rows(), path, left)
    watched = Breaking(rows(), -1)
    assert_same(select().fit_source(watched, path), whole)
    assert not list(path.parent.iterdir())
    ended = max(left - 1, 0) // N_BLOCKS
    assert watched.read == 1 + N_BLOCKS * (n_passes - ended)


@pytest.mark.parametrize("kind", PASSES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_ends_alike_after_many_breaks(path: Path, container, n_passes: int):
    """Each start comes one block further than the one before."""
    options = {"missing": "mean", "n_resamples": 2, "path_sizes": [1, 3]}
    source = rows(container, missing=True)
    whole = select(**options).fit_source(source)
    for place in range(N_BLOCKS * n_passes - 1):
        break_off(select(**options), source, path, 1 + place % N_BLOCKS + 1)
    assert_same(select(**options).fit_source(source, path), whole)


def test_goes_on_with_the_random_numbers_it_had(path: Path):
    before = np.random.get_state()  # noqa: NPY002
    options = {"random_state": None, "n_resamples": 4}
    whole = select(**options).fit_source(rows())
    np.random.set_state(before)  # noqa: NPY002
    break_off(select(**options), rows(), path, 5)
    assert_same(select(**options).fit_source(rows(), path), whole)


def test_classes_by_name(path: Path):
    X = np.random.default_rng(0).standard_normal((200, 12))
    y = np.where(X[:, 3] > 0, "above", "no")
    source = open_source(X, target=y, block_rows=50)
    whole = select().fit_source(source)
    break_off(select(), source, path, 5)
    assert_same(select().fit_source(source, path), whole)


@pytest.mark.parametrize(
    "other",
    [
        {"n_features_to_select": 3},
        {"random_state": 1},
        {"random_state": np.random.RandomState(0)},
        {"keep": [5]},
        {"filter": np.ones(4)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_parameters_are_another_fit(path: Path, other):
    break_off(select(), rows(), path, 5)
    with pytest.raises(ValueError, match="belongs to another fit"):
        select(**other).fit_source(rows(), path)


def test_equal_arrays_and_generators_are_the_same_fit(path: Path):
    def made() -> FeatureGradientSelector:
        return select(order=2, filter=np.ones(2), random_state=np.random.RandomState(3))

    whole = made().fit_source(rows())
    break_off(made(), rows(), path, 5)
    assert_same(made().fit_source(rows(), path), whole)


def test_how_much_is_printed_does_not_matter(path: Path):
    whole = select().fit_source(rows())
    break_off(select(verbose=10**9), rows(), path, 5)
    assert_same(select().fit_source(rows(), path), whole)


def test_other_values_are_another_fit(path: Path):
    break_off(select(), rows(), path, 5)
    with pytest.raises(ValueError, match="belongs to another fit"):
        select().fit_source(rows(missing=True), path)


def test_a_file_that_was_changed_is_another_fit(path: Path):
    text = path.with_suffix(".csv")
    lines = ["y,a,b", *(f"{i % 7},{i % 5},{i % 3}" for i in range(200))]
    text.write_text("\n".join(lines))
    break_off(select(), open_source(text, target="y", block_rows=50), path, 5)
    text.write_text("\n".join([*lines[:-1], "1,1,9"]))
    with pytest.raises(ValueError, match="belongs to another fit"):
        select().fit_source(open_source(text, target="y", block_rows=50), path)


def test_targets_that_changed_are_noticed(path: Path):
    X, y = np.random.default_rng(0).standard_normal((200, 12)), np.arange(200.0)
    break_off(select(), open_source(X, target=y, block_rows=50), path, 4)
    y[120] = 0
    with pytest.raises(ValueError, match=r"not what it was .* rows 101 to 150"):
        select().fit_source(open_source(X, target=y, block_rows=50), path)


def test_values_that_changed_behind_an_equal_first_block_are_noticed(path: Path):
    X = np.random.default_rng(0).standard_normal((200, 12))
    break_off(select(), open_source(X, target=X[:, 0], block_rows=50), path, 4)
    other, y = X.copy(), X[:, 0]
    other[120, 5] = 7
    with pytest.raises(ValueError, match=r"not what it was .* rows 101 to 150"):
        select().fit_source(open_source(other, target=y, block_rows=50), path)


def test_of_two_fits_at_once_the_second_is_told(path: Path):
    class Twice(Breaking):
        def __iter__(self):
            with pytest.raises(ValueError, match="in use by another fit: wait for it"):
                select().fit_source(rows(), path)
            return super().__iter__()

    select().fit_source(Twice(rows(), -1), path)
    assert not list(path.parent.iterdir())


def test_a_full_disk_costs_the_checkpoint_and_not_the_fit(path: Path, monkeypatch):
    whole = select().fit_source(rows())
    monkeypatch.setattr("featgrad.dataset.checkpoint.os.fsync", full_disk)
    with pytest.warns(UserWarning, match="cannot be written .*No space left.* the fit goes on"):
        resumed = select().fit_source(rows(), path)
    assert_same(resumed, whole)
    assert not list(path.parent.iterdir())


def full_disk(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


KILLED = """
import os, signal, sys, time
import numpy as np
from featgrad import FeatureGradientSelector
from featgrad import plan
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.readers import open_source

class Slow:
    def __init__(self, source):
        self._source = source

    def __getattr__(self, name):
        return getattr(self._source, name)

    def __iter__(self):
        for block in self._source:
            time.sleep(0.01)
            yield block

def fit(path):
    X = np.random.default_rng(0).standard_normal((200, 12))
    source = Slow(open_source(X, target=X[:, 1] - X[:, 4], block_rows=20))
    return FeatureGradientSelector(2, random_state=0).fit_source(source, path)

path, seed = sys.argv[1], int(sys.argv[2])
Checkpoint.every_s = 0.0
rng, killed = np.random.default_rng(seed), 0
for _ in range(8):
    child = os.fork()
    if child == 0:
        fit(path)
        os._exit(0)
    ended = 0
    while not ended and not os.path.exists(path):
        ended, _ = os.waitpid(child, os.WNOHANG)
    if not ended:
        time.sleep(rng.uniform(0, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killed += os.path.exists(path)
resumed, whole = fit(path), fit(None)
assert killed, "every kill came too late"
assert np.array_equal(resumed.scores_, whole.scores_)
assert np.array_equal(resumed.get_support(), whole.get_support())
assert resumed.learnability_ == whole.learnability_
assert not os.listdir(os.path.dirname(path))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_ends_alike_after_kills_at_any_moment(path: Path):
    subprocess.run([sys.executable, "-c", KILLED, str(path), "0"], check=True)
