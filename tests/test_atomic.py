import errno
import fcntl
from pathlib import Path

import pytest

from featgrad._support.atomic import atomic_path, locked


def test_the_file_is_replaced_once_it_is_complete(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), atomic_path(path):
        (tmp_path / "absent").read_text()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_without_a_name_names_the_file(tmp_path):
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*a\.txt'"),
        atomic_path(tmp_path / "a.txt"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_each_writer_has_a_file_of_its_own(tmp_path):
    path = tmp_path / "a.csv"
    with atomic_path(path) as first, atomic_path(path) as second:
        assert first != second
        assert {first.parent, second.parent} == {tmp_path}
        assert {first.suffix, second.suffix} == {".csv"}


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(Path(tmp_path, "absent", "a.txt")):
        pass


def test_only_one_has_the_lock_of_a_path(tmp_path):
    path = tmp_path / "a.npz"
    with locked(path), pytest.raises(BlockingIOError), locked(path):
        pass
    with locked(path):
        assert not path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_was_removed_after_it_was_opened_is_no_lock(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    take, holder = fcntl.flock, locked(path)
    holder.__enter__()

    def late(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", take)
        # The holder goes between the opening of its file and the lock.
        holder.__exit__(None, None, None)
        take(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with locked(path), pytest.raises(BlockingIOError), locked(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_taking_the_lock_removes_what_a_kill_left(tmp_path):
    path = tmp_path / "a.npz"
    with atomic_path(path) as temporary:
        left = temporary
        temporary.rename(tmp_path / "moved")
        (tmp_path / "moved").rename(left)
        with locked(path):
            assert not left.exists()
        left.touch()
