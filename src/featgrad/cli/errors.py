"""Errors on the command line and their messages."""

import os
import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from featgrad.readers.columns import UnknownColumnError
from featgrad.report.text import visible

# Arguments of the library that are options of the command; messages are translated.
_ARGUMENTS = (
    "target|weight|format|categorical|hash_dim|on_bad_rows|task|order|features|keep|exclude|"
    "sep|decimal|encoding|header|na_values"
)
_ASSIGNED = re.compile(rf"\b({_ARGUMENTS})=('[^']*'|\['[^']*'\]|\w[\w*]*)?")


class UsageError(ValueError):
    """The command line names something that does not exist; exit code 2."""


USAGE_ERRORS = (UsageError, UnknownColumnError, FileNotFoundError)


def one_line(error: Exception) -> str:
    """The message of an error on one line, with options in place of arguments."""
    text = visible(" ".join(str(error).split())) or type(error).__name__
    text = text.replace("target is None: name", "--target is missing: name")
    return _ASSIGNED.sub(lambda found: _option(*found.groups()), text)


def _option(argument: str, value: str | None) -> str:
    option = "--na" if argument == "na_values" else f"--{argument.replace('_', '-')}"
    if value is None:
        return option
    if value.startswith("["):
        value = value[1:-1]
    elif argument == "on_bad_rows":
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


def check_outputs(arguments: Namespace, suffixes: dict[str, Sequence[str]]) -> None:
    """Check that files can be written, each with a suffix of its option if that has any.

    Neither FILE nor an output of another option is overwritten, by whatever link or spelling.
    """
    given = arguments.file if isinstance(arguments.file, list) else [arguments.file]
    files = [file for file in given if isinstance(file, Path)]
    used = {os.path.realpath(file): "FILE" for file in files}
    for name, allowed in suffixes.items():
        path, option = getattr(arguments, name), "OUT" if name == "out_file" else f"--{name}"
        if path is None:
            continue
        shown = f"{option} {str(path)!r}"
        if allowed and path.suffix.lower() not in allowed:
            raise UsageError(f"{shown} has no known suffix: use {', '.join(allowed)}.")
        if not path.parent.is_dir():
            raise UsageError(f"{shown} is in a folder that does not exist: create {path.parent}.")
        if path.is_dir():
            raise UsageError(f"{shown} is a folder: name a file.")
        same = path.exists() and any(file.exists() and path.samefile(file) for file in files)
        other = "FILE" if same else used.get(os.path.realpath(path))
        if other is not None:
            raise UsageError(f"{shown} is the same file as {other}: name another one.")
        used[os.path.realpath(path)] = option
