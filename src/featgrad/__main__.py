"""The command, as `python -m featgrad`."""

import sys

from featgrad.cli import main

if __name__ == "__main__":
    sys.exit(main())
