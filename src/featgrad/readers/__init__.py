"""Rows from arrays, frames and files, block by block, as often as needed."""

from featgrad.readers.block import Block, Source
from featgrad.readers.convert import convert
from featgrad.readers.opening import open_source
from featgrad.readers.prefetch import prefetched

__all__ = ["Block", "Source", "convert", "open_source", "prefetched"]
