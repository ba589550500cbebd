"""Run a command: standard input and pipes as files, warnings of the library as notes."""

import shutil
import sys
import tempfile
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from featgrad.cli import commands
from featgrad.cli.progress import Progress
from featgrad.cli.watching import watch


def run(arguments: Namespace) -> None:
    """Run the command that was asked for."""
    progress = arguments.progress = Progress(arguments.quiet)
    arguments.notes = []

    def show(message: Any, *_: Any) -> None:
        progress.note(f"note: {message}")
        arguments.notes.append(str(message))

    with _readable(arguments.file) as files, warnings.catch_warnings():
        arguments.file = files if len(files) > 1 else files[0]
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        command = watch if arguments.run == "watch" else getattr(commands, arguments.run)
        command(arguments)


@contextmanager
def _readable(names: list[str]) -> Iterator[list[Path]]:
    """The files; standard input and pipes, which can be read once, are copied first."""
    with tempfile.TemporaryDirectory(prefix="featgrad-") as folder:
        paths = []
        for name in names:
            path = Path(name)
            if name == "-" or path.is_fifo():
                copy = Path(folder, "stdin" if name == "-" else path.name)
                with copy.open("wb") as target:
                    if name == "-":
                        shutil.copyfileobj(sys.stdin.buffer, target)
                    else:
                        with path.open("rb") as source:
                            shutil.copyfileobj(source, target)
                path = copy
            paths.append(path)
        yield paths
