"""A file that holds how far a long fit has come, so that a killed one can go on.

A fit reads its source in passes, each of which adds up some arrays. Now and then these are written
with the number of rows that they came from; the same fit, started again, takes them up and drops
the rows that it had. The file appears under its name only when it is whole, and goes when the fit
has ended.
"""

import copy
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple, Protocol
from warnings import warn

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.atomic import atomic_path, locked
from featgrad.readers import Source

Arrays = Mapping[str, NDArray[Any]]

# Writing that takes longer than this is done less often, so that it stays a tenth of the time.
_PROMPT_S = 3.0
_IDENTITY, _NAMES, _ROWS, _FINISHED = "identity", "names", "rows", "finished"
# To be raised when passes keep something other than before.
_FORMAT = 8
# Parameters that say nothing about the result.
_SILENT = {"verbose"}


class Kept(NamedTuple):
    """How far a pass has come."""

    rows: int
    finished: bool
    arrays: Arrays


class Sums(Protocol):
    """What a pass adds up."""

    def state(self) -> Arrays:
        """All of it."""

    def restore(self, state: Arrays) -> None:
        """Take it up again; the arrays may be changed in place."""


class Checkpoint:
    """State of the passes of one fit, in a file; without a path nothing is kept.

    A file with another identity, that of another fit, is refused.
    """

    every_s: float = 30.0

    def __init__(self, path: str | os.PathLike[str] | None, identity: str) -> None:
        self._path = None if path is None else Path(path)
        self._identity = identity
        self._due = monotonic() + self.every_s
        self._is_there = self._path is not None and self._path.exists()
        if self._path is not None and self._is_there:
            self._check(self._path)

    @property
    def is_kept(self) -> bool:
        """Whether anything is written."""
        return self._path is not None

    def resume(self, name: str) -> Kept | None:
        """What was kept of a pass; None where it has to start."""
        if self._path is None or not self._is_there:
            return None
        with np.load(self._path, allow_pickle=False) as stored:
            arrays = {
                member.removeprefix(f"{name}/"): stored[member]
                for member in stored
                if member.startswith(f"{name}/")
            }
        if not arrays:
            return None
        return Kept(int(arrays.pop(_ROWS)), bool(arrays.pop(_FINISHED)), arrays)

    def keep(
        self, name: str, rows: int, arrays: Callable[[], Arrays], *, finished: bool = False
    ) -> None:
        """Put how far a pass has come in the place of what is kept of it.

        One that has not finished is written only if it is time to.
        """
        start = monotonic()
        if self._path is None or (start < self._due and not finished):
            return
        own = {_ROWS: np.array(rows), _FINISHED: np.array(finished), **arrays()}
        try:
            with atomic_path(self._path) as temporary, temporary.open("wb") as file:
                with zipfile.ZipFile(file, "w") as archive:
                    self._store(archive, name, own)
                file.flush()
                os.fsync(file.fileno())
            self._is_there = True
        except OSError as error:
            warn(
                f"checkpoint {str(self._path)!r} cannot be written ({error}): the fit goes on, but "
                "cannot be resumed from here.",
                stacklevel=2,
            )
        end = monotonic()
        self._due = end + self.every_s * max(1.0, (end - start) / _PROMPT_S)

    def through(
        self, name: str, parts: Iterable[tuple[Any, ...]], add: Callable[..., None], sums: Sums
    ) -> None:
        """Make a pass: call `add`, which changes `sums`, with all parts that these do not have yet.

        The first thing in a part has the length of its rows.
        """
        kept, done, seen = self.resume(name), 0, 0
        if kept is not None:
            sums.restore(kept.arrays)
            if kept.finished:
                return
            done = kept.rows
        for part in parts:
            seen += len(part[0])
            if seen > done:
                add(*part)
                self.keep(name, seen, sums.state)
        if seen:
            self.keep(name, seen, sums.state, finished=True)

    def random(self, rng: np.random.RandomState) -> np.random.RandomState:
        """The generator as it was when the fit first started; to be called once."""
        kept = self.resume("random")
        if kept is None:
            state = json.dumps(rng.get_state(legacy=False), default=np.ndarray.tolist)
            self.keep("random", 0, lambda: {"state": np.array(state)}, finished=True)
            return rng
        rng = copy.deepcopy(rng)
        rng.set_state(json.loads(str(kept.arrays["state"])))
        return rng

    def remove(self) -> None:
        """The fit has ended: nothing is left to go on with."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _store(self, archive: zipfile.ZipFile, name: str, own: Arrays) -> None:
        """What `numpy.savez` writes, without ever pickling: a pass, and what is known of others.

        These come from the file and not from memory, where what they have left may have changed.
        """
        members: list[str] = []
        if self._is_there:
            assert self._path is not None
            with zipfile.ZipFile(self._path) as old:
                members = [m for m in old.namelist() if "/" in m and not m.startswith(f"{name}/")]
                for member in members:
                    with old.open(member) as source, _added(archive, member) as target:
                        shutil.copyfileobj(source, target)
        arrays = {f"{name}/{key}": array for key, array in own.items()}
        arrays[_IDENTITY] = np.array(self._identity)
        names = [*(member.removesuffix(".npy") for member in members), *arrays]
        for key, array in {**arrays, _NAMES: np.array(names)}.items():
            with _added(archive, f"{key}.npy") as target:
                np.lib.format.write_array(target, array, allow_pickle=False)

    def _check(self, path: Path) -> None:
        try:
            # The archive knows whether a member is sound, but not whether one is missing.
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise ValueError("a checksum is wrong")
            with np.load(path, allow_pickle=False) as stored:
                if [*stored[_NAMES].tolist(), _NAMES] != stored.files:
                    raise ValueError("part of it is missing")
                identity = str(stored[_IDENTITY])
        # The readers of archives and of arrays raise whatever a damaged byte leads them to.
        except Exception as error:
            raise ValueError(
                f"checkpoint {str(path)!r} cannot be read, it is damaged or not a checkpoint "
                f"({error}): remove it or name another file."
            ) from error
        if identity != self._identity:
            raise ValueError(
                f"checkpoint {str(path)!r} belongs to another fit, with other parameters or "
                "another source: remove it or name another file."
            )


def _added(archive: zipfile.ZipFile, member: str) -> IO[bytes]:
    return archive.open(member, "w", force_zip64=True)


NO_CHECKPOINT = Checkpoint(None, "")


def matrix_state(X: Any) -> dict[str, NDArray[Any]]:
    """A dense or CSR matrix as arrays."""
    if not sparse.issparse(X):
        return {"values": X}
    return {
        "values": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape),
    }  # fmt: skip


def matrix_of(state: Arrays) -> Any:
    if "indptr" not in state:
        return state["values"]
    parts = state["values"], state["indices"], state["indptr"]
    return sparse.csr_array(parts, shape=tuple(state["shape"].tolist()))


@contextmanager
def open_checkpoint(
    path: str | os.PathLike[str] | None, parameters: Mapping[str, Any], source: Source
) -> Iterator[Checkpoint]:
    """The checkpoint of a fit, new or as a killed one left it, locked while it is in use."""
    if path is None:
        yield NO_CHECKPOINT
        return
    if not Path(path).parent.is_dir() or Path(path).is_dir():
        raise ValueError(
            f"checkpoint={str(path)!r} cannot be written: name a file in a folder that exists."
        )
    decisive = {name: value for name, value in parameters.items() if name not in _SILENT}
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(Path(path)))
        except BlockingIOError as error:
            raise ValueError(
                f"checkpoint {str(path)!r} is in use by another fit: wait for it, or name another "
                "file."
            ) from error
        yield Checkpoint(path, str(joblib.hash((_FORMAT, decisive, *_of_source(source)))))


def _of_source(source: Source) -> tuple[Any, ...]:
    """Its size and names, the first block, and of a file when it was last changed."""
    names, path = source.feature_names, Path(source.name)
    first = next(iter(source), None)
    block: list[Any] = []
    if first is not None:
        block = [*matrix_state(first.X).values(), first.y, first.weight]
    return (
        (source.n_features, source.n_rows, source.block_rows),
        None if names is None else "\n".join(names),
        (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None,
        block,
    )
