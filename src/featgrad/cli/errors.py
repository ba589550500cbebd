"""Errors of whoever typed the command."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

_LISTED = 20


class UsageError(ValueError):
    """The command line asks for something that does not exist; exit code 2."""


def unknown_column(option: str, name: str, columns: Sequence[str]) -> UsageError:
    near = get_close_matches(name, columns, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(columns[:_LISTED])
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return UsageError(f"{option} {name!r} is no column.{hint} The columns are {listed}{more}.")


def check_suffix(option: str, path: Path, known: Sequence[str]) -> None:
    if path.suffix not in known:
        raise UsageError(f"{option} {str(path)!r} has no known suffix: use one of {list(known)}.")


def check_output(option: str, path: Path | None, known: Sequence[str]) -> None:
    """Before the work begins: a file that could not be written at its end."""
    if path is None:
        return
    check_suffix(option, path, known)
    if not path.parent.is_dir():
        raise UsageError(f"{option} {str(path)!r} is in no folder: create {path.parent}.")
