"""A file that holds how far a long fit has come, so that a killed one can go on.

A fit reads its source in passes, each of which adds up blocks of rows. Now and then the sums are
written with the number of blocks that they came from; the same fit, started again, takes them up
and drops the blocks that it had. The file appears under its name only when it is whole, and goes
when the fit has ended. Sums are pickled, and only loaded from a sound file of the same fit.
"""

import os
import pickle
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from warnings import warn
from zipfile import ZipFile

import joblib
import numpy as np

from featgrad._support.atomic import atomic_path, locked
from featgrad.readers import Source

# Writing that takes longer than this is done less often, so that it stays a tenth of the time.
_PROMPT_S = 3.0
_IDENTITY = "identity"
# To be raised when passes keep something other than before.
_FORMAT = 10
# Parameters that say nothing about the result.
_SILENT = {"verbose"}


class Kept(NamedTuple):
    """How far a pass has come."""

    n_parts: int
    finished: bool
    sums: Any


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
        return self._path is not None

    def resume(self, name: str) -> Kept | None:
        """What was kept of a pass; None where it has to start."""
        if self._path is None or not self._is_there:
            return None
        with ZipFile(self._path) as archive:
            if name not in archive.namelist():
                return None
            with archive.open(name) as member:
                return Kept(*pickle.load(member))

    def keep(self, name: str, n_parts: int, sums: Any, *, finished: bool = False) -> None:
        """Put how far a pass has come in the place of what is kept of it.

        One that has not finished is written only if it is time to.
        """
        start = monotonic()
        if self._path is None or (start < self._due and not finished):
            return
        try:
            with atomic_path(self._path) as temporary, temporary.open("wb") as file:
                with ZipFile(file, "w") as archive:
                    self._store(archive, name, (n_parts, finished, sums))
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

    def through(self, name: str, parts: Iterable[tuple[Any, ...]], sums: Any) -> None:
        """Make a pass: add all parts to the sums that these do not have yet.

        Of sums that know what was `added`, only that is kept.
        """
        kept, n_parts, added = self.resume(name), 0, getattr(sums, "added", lambda: sums)
        if kept is not None:
            take_up(sums, kept.sums)
            if kept.finished:
                return
        for n_parts, part in enumerate(parts, start=1):
            if kept is None or n_parts > kept.n_parts:
                sums.add(*part)
                self.keep(name, n_parts, added())
        if n_parts:
            self.keep(name, n_parts, added(), finished=True)

    def random(self, rng: np.random.RandomState) -> np.random.RandomState:
        """The generator as it was when the fit first started; to be called once."""
        kept = self.resume("random")
        if kept is None:
            self.keep("random", 0, rng, finished=True)
            return rng
        first: np.random.RandomState = kept.sums
        return first

    def remove(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _store(self, archive: ZipFile, name: str, record: tuple[Any, ...]) -> None:
        """A pass, and what is known of others.

        These come from the file and not from memory, where what they have left may have changed.
        """
        if not self._is_there:
            archive.writestr(_IDENTITY, self._identity)
        else:
            assert self._path is not None
            with ZipFile(self._path) as old:
                for other in old.namelist():
                    if other != name:
                        with old.open(other) as source, _member(archive, other) as target:
                            shutil.copyfileobj(source, target)
        with _member(archive, name) as target:
            pickle.dump(record, target, protocol=pickle.HIGHEST_PROTOCOL)

    def _check(self, path: Path) -> None:
        try:
            with ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise ValueError("a checksum is wrong")
                identity = archive.read(_IDENTITY).decode()
        # The reader of archives raises whatever a damaged byte leads it to.
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


def _member(archive: ZipFile, name: str) -> Any:
    return archive.open(name, "w", force_zip64=True)


NO_CHECKPOINT = Checkpoint(None, "")


def take_up(sums: Any, kept: Any) -> None:
    """Give sums, and those that they are made of, what was kept; all else of them stays."""
    for name, part in vars(kept).items():
        if hasattr(vars(sums).get(name), "__dict__"):
            take_up(vars(sums)[name], part)
        else:
            vars(sums)[name] = part


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
    return (
        (source.n_features, source.n_rows, source.block_rows),
        None if names is None else "\n".join(names),
        (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None,
        None if first is None else (first.X, first.y, first.weight),
    )
