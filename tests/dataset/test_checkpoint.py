"""State of a fit in a file: whole or not there, of this fit or refused."""

from pathlib import Path
from pickle import PicklingError

import numpy as np
import pytest

from featgrad.columns.sums import ArraySums
from featgrad.dataset import checkpoint
from featgrad.dataset.checkpoint import Checkpoint, open_checkpoint


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fit.npz"


@pytest.fixture(autouse=True)
def at_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkpoint, "every_s", 0.0)


class Total:
    """A sum whose parts are remembered."""

    def __init__(self) -> None:
        self.total, self.seen = np.zeros(2), []

    def add(self, values) -> None:
        self.seen.append(len(values))
        self.total += values.sum(axis=0)

    def __getstate__(self):
        return {"total": self.total}


def run(kept: Checkpoint, parts, total: Total) -> None:
    kept.through("one", parts, total)


def parts(stop: int | None = None):
    """Five parts of rows, the reading of which may break off."""
    rows = np.random.default_rng(0).standard_normal((45, 2))
    for i in range(5):
        if i == stop:
            raise RuntimeError("killed")
        yield (rows[10 * i : 10 * i + 10],)


def test_what_is_kept_comes_back(path: Path):
    first, kept = Checkpoint(path, "a"), np.arange(6, dtype=np.float32).reshape(2, 3).T
    first.keep("one", 7, kept, finished=True)
    first.keep("two", 5, "some")
    again = Checkpoint(path, "a")
    assert again.resume("one")[:2] == (7, True)
    np.testing.assert_array_equal(again.resume("one").sums, kept, strict=True)
    assert again.resume("two") == (5, False, "some")
    assert again.resume("three") is None


@pytest.mark.parametrize("stop", range(5))
def test_a_pass_goes_on_where_it_was(path: Path, stop: int):
    whole = Total()
    run(Checkpoint(None, "a"), parts(), whole)
    with pytest.raises(RuntimeError, match="killed"):
        run(Checkpoint(path, "a"), parts(stop), Total())
    again = Total()
    run(Checkpoint(path, "a"), parts(), again)
    assert len(again.seen) == 5 - stop
    np.testing.assert_array_equal(again.total, whole.total, strict=True)


class Pair(ArraySums):
    """Even and odd parts; after the first part the second sum has nothing yet."""

    def __init__(self) -> None:
        self.even, self.odd = Total(), Total()

    def add(self, values, i: int) -> None:
        (self.odd if i % 2 else self.even).add(values)


@pytest.mark.parametrize("stop", range(1, 5))
def test_a_pass_of_several_sums_goes_on_where_it_was(path: Path, stop: int):
    def through(kept: Checkpoint, pair: Pair, stop: int | None = None) -> None:
        numbered = ((*part, i) for i, part in enumerate(parts(stop)))
        kept.through("one", numbered, pair)

    whole, again = Pair(), Pair()
    through(Checkpoint(None, "a"), whole)
    with pytest.raises(RuntimeError, match="killed"):
        through(Checkpoint(path, "a"), Pair(), stop)
    through(Checkpoint(path, "a"), again)
    assert len(again.even.seen) + len(again.odd.seen) == 5 - stop
    np.testing.assert_array_equal(again.even.total, whole.even.total, strict=True)
    np.testing.assert_array_equal(again.odd.total, whole.odd.total, strict=True)


class Named(ArraySums):
    """Arrays and other sums under given names."""

    def __init__(self, **parts) -> None:
        vars(self).update(parts)


def test_sums_of_sums_are_merged_one_by_one():
    def made(start: int) -> Named:
        return Named(total=np.array([start]), nothing=None, rows=[start], deep=Named(a=start))

    merged = made(5)
    merged.merge(made(7))
    assert (merged.total, merged.nothing, merged.rows, merged.deep.a) == (12, None, [5, 7], 12)


def test_a_pass_that_has_ended_is_not_read_again(path: Path):
    first, again = Total(), Total()
    run(Checkpoint(path, "a"), parts(), first)
    run(Checkpoint(path, "a"), parts(stop=0), again)
    np.testing.assert_array_equal(again.total, first.total)


def test_what_a_pass_has_left_may_change(path: Path):
    kept, total = Checkpoint(path, "a"), np.ones(3)
    kept.keep("one", 2, total, finished=True)
    total[:] = 5
    kept.keep("two", 3, None)
    again = Checkpoint(path, "a")
    assert again.resume("one").sums.tolist() == [1, 1, 1]
    assert again.resume("two").n_parts == 3


def test_a_pass_takes_the_place_of_what_was_kept_of_it(path: Path):
    kept = Checkpoint(path, "a")
    kept.keep("one", 1, "first")
    kept.keep("one", 2, "second")
    assert Checkpoint(path, "a").resume("one") == (2, False, "second")


def test_nothing_is_kept_before_it_is_time(path: Path, monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr(Checkpoint, "every_s", 30.0)
    monkeypatch.setattr(checkpoint, "monotonic", lambda: now)
    kept = Checkpoint(path, "a")
    kept.keep("one", 1, None)
    assert not path.exists()
    now = 30.0
    kept.keep("one", 3, None)
    now = 59.0
    kept.keep("one", 4, None)
    assert Checkpoint(path, "a").resume("one").n_parts == 3


def test_slow_writing_is_done_less_often(path: Path, monkeypatch: pytest.MonkeyPatch):
    now, written = 0.0, []

    def writing(*_) -> None:
        nonlocal now
        written.append(now)
        now += 6.0

    monkeypatch.setattr(Checkpoint, "every_s", 30.0)
    monkeypatch.setattr(checkpoint, "monotonic", lambda: now)
    monkeypatch.setattr(Checkpoint, "_store", writing)
    kept = Checkpoint(path, "a")
    for second in (30.0, 95.0, 96.0):
        now = second
        kept.keep("one", 1, None)
    assert written == [30.0, 96.0]


def test_without_a_file_nothing_is_kept():
    kept = Checkpoint(None, "a")
    kept.keep("one", 1, None, finished=True)
    kept.remove()
    assert kept.resume("one") is None


def test_removed_when_the_fit_has_ended(path: Path):
    kept = Checkpoint(path, "a")
    kept.keep("one", 1, None, finished=True)
    kept.remove()
    assert list(path.parent.iterdir()) == []


def test_what_cannot_be_written_leaves_the_old_file(path: Path):
    kept = Checkpoint(path, "a")
    kept.keep("one", 1, None)
    with pytest.raises((AttributeError, PicklingError), match="pickle"):
        kept.keep("one", 2, lambda: None)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert Checkpoint(path, "a").resume("one").n_parts == 1


def test_a_pass_without_rows_is_not_kept(path: Path):
    run(Checkpoint(path, "a"), [], Total())
    assert not path.exists()


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64])
def test_random_numbers_start_as_they_did(path: Path, bits):
    drawn = Checkpoint(path, "a").random(np.random.RandomState(bits(0))).random_sample(5)
    given = np.random.RandomState(bits(1))
    again = Checkpoint(path, "a").random(given)
    np.testing.assert_array_equal(again.random_sample(5), drawn)
    np.testing.assert_array_equal(
        given.random_sample(5), np.random.RandomState(bits(1)).random_sample(5)
    )


def test_file_that_goes_during_the_fit_is_missed(path: Path):
    """What it held cannot be written again."""
    kept = Checkpoint(path, "a")
    kept.keep("one", 1, None, finished=True)
    path.unlink()
    with pytest.warns(UserWarning, match=f"{path.name}.* cannot be written .*No such file"):
        kept.keep("two", 1, None, finished=True)


def test_another_fit_is_refused(path: Path):
    Checkpoint(path, "a").keep("one", 1, None, finished=True)
    with pytest.raises(ValueError, match=r"belongs to another fit.*remove it"):
        Checkpoint(path, "b")


@pytest.mark.parametrize("place", ["", "missing/fit.npz"])
def test_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path, place: str):
    with pytest.raises(ValueError, match=r"checkpoint=.* cannot be written"):
        open_checkpoint(tmp_path / place, {}, None).__enter__()


def test_damaged_files_are_refused_or_hold_what_was_written(path: Path):
    total = np.random.default_rng(0).standard_normal(50)
    Checkpoint(path, "a").keep("one", 9, total, finished=True)
    sound, rng, refused = path.read_bytes(), np.random.default_rng(1), 0
    for trial in range(400):
        at = rng.integers(len(sound))
        damage = [
            sound[:at],
            sound[:at] + rng.bytes(1) + sound[at + 1 :],
            sound[:at] + rng.bytes(8) + sound[at + 8 :],
            sound[:at] + sound[at + 5 :],
        ]
        path.write_bytes(damage[trial % len(damage)])
        try:
            kept = Checkpoint(path, "a").resume("one")
        except ValueError:
            refused += 1
        else:
            assert kept is not None
            assert kept.n_parts == 9
            np.testing.assert_array_equal(kept.sums, total)
    assert refused > 300


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04"])
def test_what_is_no_checkpoint_is_refused(path: Path, content: bytes):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"not a checkpoint .*remove it"):
        Checkpoint(path, "a")
    assert path.read_bytes() == content


def test_archive_of_something_else_is_refused(path: Path):
    np.savez(path, X=np.ones(3))
    with pytest.raises(ValueError, match="not a checkpoint"):
        Checkpoint(path, "a")
