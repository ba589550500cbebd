"""Readers of arrays, data frames and files, block by block and as often as needed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from featgrad.readers.block import Block
    from featgrad.readers.opening import open_source
    from featgrad.readers.source import Source, prefetched
    from featgrad.readers.stored_rows import convert

__all__ = ["Block", "Source", "convert", "open_source", "prefetched"]
# Imported when first used: the command looks at the names of formats only.
_MODULES = {"Block": "block", "convert": "stored_rows", "open_source": "opening"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'source')}"), name)
