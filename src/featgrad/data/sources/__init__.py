"""Rows from arrays, frames and files, block by block, as often as needed."""

from featgrad.data.sources.ahead import ahead
from featgrad.data.sources.block import Block, Source
from featgrad.data.sources.convert import convert
from featgrad.data.sources.opening import open_source

__all__ = ["Block", "Source", "ahead", "convert", "open_source"]
