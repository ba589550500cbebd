"""Text that is shown to people."""

import re
from typing import Any

# Control characters, and those that change the direction of text: a terminal or a page would obey.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text with its control characters escaped as in JSON, like ``\u001b``."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural where it belongs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def feature_names(selector: Any) -> list[str]:
    """The names that a selector has seen, or x0, x1, ..."""
    default = [f"x{i}" for i in range(selector.n_features_in_)]
    return [str(name) for name in getattr(selector, "feature_names_in_", default)]
