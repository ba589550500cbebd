"""Names and numbers as they are shown: without control characters, counted, listed, in tables."""

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

# Control characters, and those that change the direction of text: a terminal or a page would obey.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Names of a list or a table, and those that are compared with a name: millions would take minutes.
SHOWN, _COMPARED = 20, 100_000


def visible(text: str) -> str:
    r"""The text with its control characters escaped as in JSON, like ``\u001b``."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural where it belongs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def existing(names: Sequence[Any], wanted: Any) -> str:
    """The first of the names that there are, and the nearest to one that is not among them."""
    shown = ", ".join(repr(str(name)) for name in names[:SHOWN])
    shown += f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    if not isinstance(wanted, str) or len(names) >= _COMPARED:
        return shown
    near = get_close_matches(wanted, list(map(str, names)), n=1, cutoff=0)
    return f"{shown}; the nearest is {near[0]!r}" if near else shown


def aligned(*rows: Sequence[str]) -> str:
    """Lines of cells that are as wide as the widest of their column, without control characters."""
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "\n".join(lines)


def percent(share: float) -> str:
    """As all that is explained, lost or predicted is shown."""
    return "unknown" if math.isnan(share) else f"{share:z.1%}"


def name_of(names: Any, feature: int) -> str:
    """The name of a feature, or x0, x1, ... where they have none."""
    return f"x{feature}" if names is None else str(names[feature])
