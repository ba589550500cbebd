"""Readers of arrays, data frames and files, block by block and as often as needed."""

from featgrad.readers.block import Block
from featgrad.readers.convert import convert
from featgrad.readers.opening import open_source
from featgrad.readers.source import Source, prefetched

__all__ = ["Block", "Source", "convert", "open_source", "prefetched"]
