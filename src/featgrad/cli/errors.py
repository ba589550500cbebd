"""Errors of whoever typed the command."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_LISTED = 20


class UsageError(ValueError):
    """The command line asks for something that does not exist; exit code 2."""


def unknown_column(option: str, name: str, columns: Sequence[str]) -> UsageError:
    near = get_close_matches(name, columns, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(columns[:_LISTED])
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return UsageError(f"{option} {name!r} is no column.{hint} The columns are {listed}{more}.")
