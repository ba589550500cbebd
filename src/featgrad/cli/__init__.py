"""The `featgrad` command: from a file to a chosen set, without writing Python.

Standard input and pipes are read as files; errors are one line and an exit code.
"""

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from featgrad.cli.arguments import UsageError, build_parser, completion_script

# Exit codes: a failure, and a command line that names something that does not exist.
FAILED, USAGE = 1, 2
# Arguments of the library that are options of the command; messages are translated.
_ARGUMENTS = (
    "target|weight|format|categorical|hash_dim|on_bad_rows|task|features|keep|exclude|"
    "sep|decimal|encoding|header|na_values|skip_rows|sheet|transpose|groups"
)
_ASSIGNED = re.compile(rf"\b({_ARGUMENTS})=('[^']*'|\['[^']*'\]|\w+)?")
_PASSED = re.compile(rf"(?<=\bpass )({_ARGUMENTS})\b(?!=)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `featgrad` with these arguments, or those of the process; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    parser = build_parser()
    arguments = parser.parse_args(argv or ["--help"])
    arguments.command_line = shlex.join(["featgrad", *argv])
    if arguments.run == "completion":
        print(completion_script(parser, arguments.shell))
        return 0
    # Names of what is read by way of a copy: its path would tell nobody anything.
    arguments.copies = {}
    arguments.named = lambda text: reduce(_replace, arguments.copies.items(), text)
    try:
        with _ended_by_signals():
            _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        message = str(interrupt) or "nothing was written"
        print(f"\nfeatgrad: interrupted, {message}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # the reader stopped early, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if arguments.debug:
            raise
        from featgrad.readers.columns import UnknownColumnError

        print(f"featgrad: error: {arguments.named(_one_line(error))}", file=sys.stderr)
        is_usage = isinstance(error, UsageError | UnknownColumnError | FileNotFoundError)
        return USAGE if is_usage else FAILED
    return 0


def _run(arguments: Namespace) -> None:
    """Run the command that was asked for, with warnings of the library as notes."""
    # Imported here: the library takes longer to load than help should take to appear.
    from featgrad._support.threads import one_blas_thread
    from featgrad.cli.commands import COMMANDS
    from featgrad.cli.output import Progress
    from featgrad.estimates.diagnosis import DataWarning

    progress = arguments.progress = Progress(arguments.quiet)
    arguments.notes = []

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        # A selection shows these with the names of the file's columns.
        if arguments.run in ("select", "construct") and issubclass(category, DataWarning):
            return
        text = arguments.named(str(message))
        progress.note(f"note: {text}")
        arguments.notes.append(text)

    # Products are short, and text is parsed meanwhile: threads of BLAS would mostly wait.
    with _readable(arguments) as files, one_blas_thread(), warnings.catch_warnings():
        arguments.file = files if len(files) > 1 else files[0]
        warnings.simplefilter("always", UserWarning)
        # A warning of the selection has the reason.
        warnings.filterwarnings("ignore", "No features were selected")
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            COMMANDS[arguments.run](arguments)
            for name in ("report", "write", "out"):
                if path := getattr(arguments, name, None):
                    progress.note(f"note: written to {path}")
        finally:
            progress.close()


@contextmanager
def _readable(arguments: Namespace) -> Iterator[list[Any]]:
    """The files; standard input and pipes, which can be read once, are copied or watched."""
    from featgrad._support.atomic import naming
    from featgrad.cli.watch import FIRST_LINES, can_follow
    from featgrad.readers.lines import Pipe

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="featgrad-"))
        files: list[Any] = []
        for name in arguments.file:
            path = Path(name)
            if name != "-" and not path.is_fifo():
                files.append(path)
                continue
            label = "standard input" if name == "-" else name
            stream = sys.stdin.buffer if name == "-" else stack.enter_context(path.open("rb"))
            pipe = Pipe(label, stream, FIRST_LINES if arguments.run == "watch" else 0)
            if arguments.run == "watch" and can_follow(pipe, arguments.format):
                files.append(pipe)
                continue
            pipe.is_live, copy = True, Path(folder, "stdin" if name == "-" else path.name)
            arguments.copies[str(copy)] = label
            with naming(f"copy of {label} in {folder}"), copy.open("wb") as target:
                shutil.copyfileobj(pipe.open(), target)
            files.append(copy)
        yield files


def _replace(text: str, pair: tuple[str, str]) -> str:
    return text.replace(*pair)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Context that signals to end leave as an error does, so that no temporary file stays."""
    before: dict[int, Any] = {}
    if current_thread() is main_thread():
        ends = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
        # One that is ignored, as by nohup, stays so.
        found = (number for number in ends if number and signal.getsignal(number) == signal.SIG_DFL)
        before = {number: signal.signal(number, _end) for number in found}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: Any) -> None:
    sys.exit(128 + number)


def _one_line(error: Exception) -> str:
    """The message of an error on one line."""
    from featgrad._support.wording import visible

    return as_options(visible(" ".join(str(error).split())) or type(error).__name__)


def as_options(text: str) -> str:
    """A message of the library with options in place of arguments."""
    text = text.replace("target is None: name", "--target is missing: name")
    text = _PASSED.sub(lambda found: _option(found[1], None), text)
    return _ASSIGNED.sub(lambda found: _option(*found.groups()), text)


def _option(argument: str, value: str | None) -> str:
    shorter = {"na_values": "na", "groups": "group"}
    option = f"--{shorter.get(argument, argument).replace('_', '-')}"
    if value in (None, "True"):
        return option
    if value.startswith("["):
        value = value[1:-1]
    elif argument == "on_bad_rows":
        value = value.strip("'")
    return f"{option} {value}"
