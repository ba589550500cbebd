"""Parse the command line; errors become one line and an exit code."""

import os
import shlex
import sys
from collections.abc import Sequence

from featgrad.cli.arguments import build_parser

# Exit codes: a failure, and a command line that names something that does not exist.
FAILED, USAGE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run `featgrad` with these arguments, or those of the process; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    parser = build_parser()
    arguments = parser.parse_args(argv)
    arguments.command_line = shlex.join(["featgrad", *argv])
    if arguments.run == "completion":
        from featgrad.cli.completion import complete

        complete(parser, arguments.shell)
        return 0
    try:
        # Imported here: the library takes longer to load than help should take to appear.
        from featgrad.cli.running import run

        run(arguments)
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
        from featgrad.cli.errors import USAGE_ERRORS, one_line

        print(f"featgrad: error: {one_line(error)}", file=sys.stderr)
        return USAGE if isinstance(error, USAGE_ERRORS) else FAILED
    return 0
