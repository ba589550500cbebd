"""The `featgrad` command: from a file to a chosen set, without writing Python."""

from featgrad.cli.main import main

__all__ = ["main"]
