"""Rows from arrays, frames and files, block by block, as often as needed."""

from featgrad.readers.ahead import ahead
from featgrad.readers.block import Block, Source
from featgrad.readers.convert import convert
from featgrad.readers.opening import open_source

__all__ = ["Block", "Source", "ahead", "convert", "open_source"]
