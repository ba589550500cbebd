"""Run a command: standard input and pipes as files, warnings of the library as notes."""

import shutil
import sys
import tempfile
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from featgrad._support.threads import one_blas_thread
from featgrad.cli import commands
from featgrad.cli.progress import Progress
from featgrad.cli.watching import FIRST_LINES, can_follow, watch
from featgrad.diagnosis import DataWarning
from featgrad.readers.lines import Pipe


def run(arguments: Namespace) -> None:
    """Run the command that was asked for."""
    progress = arguments.progress = Progress(arguments.quiet)
    arguments.notes = []

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        # A selection shows these with the names of the file's columns.
        if arguments.run == "select" and issubclass(category, DataWarning):
            return
        progress.note(f"note: {message}")
        arguments.notes.append(str(message))

    # Products are short, and text is parsed meanwhile: threads of BLAS would mostly wait.
    with _readable(arguments) as files, one_blas_thread(), warnings.catch_warnings():
        arguments.file = files if len(files) > 1 else files[0]
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", "No features were selected")  # said with the reason
        warnings.showwarning = show  # type: ignore[assignment]
        command = watch if arguments.run == "watch" else getattr(commands, arguments.run)
        try:
            command(arguments)
        finally:
            progress.close()


@contextmanager
def _readable(arguments: Namespace) -> Iterator[list[Path | Pipe]]:
    """The files; standard input and pipes, which can be read once, are copied or watched."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="featgrad-"))
        files: list[Path | Pipe] = []
        for name in arguments.file:
            path = Path(name)
            if name != "-" and not path.is_fifo():
                files.append(path)
                continue
            label = "stdin" if name == "-" else path.name
            opened = sys.stdin.buffer if name == "-" else stack.enter_context(path.open("rb"))
            pipe = Pipe(label, opened, FIRST_LINES if arguments.run == "watch" else 0)
            if arguments.run == "watch" and can_follow(pipe, arguments.format):
                files.append(pipe)
                continue
            pipe.is_live, copy = True, Path(folder, label)
            with copy.open("wb") as target:
                shutil.copyfileobj(pipe.open(), target)
            files.append(copy)
        yield files
