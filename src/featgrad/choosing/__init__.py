"""From rows, wherever they are, to the sets of features chosen from them."""

from featgrad.choosing.choice import Choice
from featgrad.choosing.request import Request, Settings
from featgrad.choosing.rows import choose_from_rows, choose_from_state
from featgrad.choosing.source import choose_from_source

__all__ = [
    "Choice",
    "Request",
    "Settings",
    "choose_from_rows",
    "choose_from_source",
    "choose_from_state",
]
