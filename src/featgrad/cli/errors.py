"""Errors on the command line and their messages."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from featgrad.readers.tables import UnknownColumnError

# Arguments of the library that are options of the command; messages are translated.
_ARGUMENTS = (
    "target|weight|format|categorical|hash_dim|on_bad_rows|task|order|features|keep|exclude"
)
_ASSIGNED = re.compile(rf"\b({_ARGUMENTS})=('[^']*'|\w[\w*]*)?")


class UsageError(ValueError):
    """The command line names something that does not exist; exit code 2."""


USAGE_ERRORS = (UsageError, UnknownColumnError, FileNotFoundError)


def one_line(error: Exception) -> str:
    """The message of an error on one line, with options in place of arguments."""
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


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Add to an interrupt how to resume from the checkpoint."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            message = "nothing was written: give --checkpoint PATH to be able to resume"
        elif checkpoint.exists():
            message = f"progress was saved in {checkpoint}: repeat the command to resume"
        else:
            message = "nothing was written: checkpoints are written every half minute"
        raise KeyboardInterrupt(message) from None


def check_output(option: str, path: Path | None, suffixes: Sequence[str] = ()) -> None:
    """Check that a file can be written, with one of these suffixes if there are any."""
    if path is None:
        return
    if suffixes and path.suffix not in suffixes:
        raise UsageError(f"{option} {str(path)!r} has no known suffix: use {', '.join(suffixes)}.")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {str(path)!r} is in no folder: create {path.parent}.")
