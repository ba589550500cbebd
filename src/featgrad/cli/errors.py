"""Errors of whoever typed the command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from featgrad.readers.tables import UnknownColumnError

_LISTED = 20
# Arguments of the library that are options of the command, as messages name them.
_ARGUMENTS = "target|weight|format|categorical|hash_dim|on_bad_rows|task|order|keep|exclude"
_ASSIGNED = re.compile(rf"\b({_ARGUMENTS})=('[^']*'|\w[\w*]*)?")


class UsageError(ValueError):
    """The command line asks for something that does not exist; exit code 2."""


MISUSES = (UsageError, UnknownColumnError, FileNotFoundError)


def one_line(error: Exception) -> str:
    """What an error says, in the words of the command line."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.replace("target is None: name", "--target is missing: name")
    return _ASSIGNED.sub(lambda found: _option(*found.groups()), text)


def _option(argument: str, value: str | None) -> str:
    option = f"--{argument.replace('_', '-')}"
    if value is None:
        return option
    if argument == "on_bad_rows":
        value = value.strip("'")
    elif "**" in value:
        base, power = value.split("**")
        value = str(int(base) ** int(power))
    return f"{option} {value}"


def unknown_column(option: str, name: str, columns: Sequence[str]) -> UsageError:
    near = get_close_matches(name, columns, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(columns[:_LISTED])
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return UsageError(f"{option} {name!r} is no feature.{hint} There are {listed}{more}.")


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Say of an interrupt how to go on from the checkpoint that it leaves."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            told = "nothing was written: give --checkpoint PATH to go on later"
        elif checkpoint.exists():
            told = f"what was done is kept in {checkpoint}: give the same command to go on"
        else:
            told = "nothing was written: a checkpoint is every half minute"
        raise KeyboardInterrupt(told) from None


def check_output(option: str, path: Path | None, known: Sequence[str]) -> None:
    """Before the work begins: a file that could not be written. None known is any suffix."""
    if path is None:
        return
    if known and path.suffix not in known:
        raise UsageError(f"{option} {str(path)!r} has no known suffix: use one of {list(known)}.")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {str(path)!r} is in no folder: create {path.parent}.")
