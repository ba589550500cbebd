"""What can be typed."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from featgrad.cli import commands
from featgrad.cli.completion import SHELLS, complete
from featgrad.objective.targets import TASKS


def build_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="featgrad",
        description="Choose the features of a table that a target can best be predicted from.",
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    shared = _shared()

    def add(name: str, run: object, text: str, *, target: bool) -> ArgumentParser:
        added = subparsers.add_parser(name, help=text, description=text, parents=[shared])
        added.add_argument("file", type=Path, metavar="FILE", help=".csv, .tsv, .parquet, .arrow")
        added.add_argument("--target", metavar="COL", required=target, help="column to predict")
        added.set_defaults(run=run)
        return added

    select = add("select", commands.select, "choose features", target=True)
    select.add_argument("-k", type=_size, default="auto", metavar="N|auto", help="how many")
    select.add_argument("--out", type=Path, metavar="PATH", help="write them: .json, .csv or .txt")
    select.add_argument("--report", type=Path, metavar="PATH", help="write a report: .html")
    select.add_argument("--write", type=Path, metavar="PATH", help="write the reduced table")
    score = add("score", commands.score, "tell what features could explain", target=True)
    score.add_argument("--features", nargs="+", metavar="COL", help="default: all")
    path = add("path", commands.path, "tell what the best set of each size explains", target=True)
    path.add_argument("--sizes", nargs="+", type=_count, metavar="N", help="numbers of features")
    add("info", commands.info, "tell what a file holds", target=False)
    completion = subparsers.add_parser("completion", help="print a shell's completion script")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=lambda given: complete(parser, given.shell), debug=False)
    return parser


def _shared() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--task", choices=TASKS, default="auto", help="what the target is")
    shared.add_argument("--order", type=_count, default=4, help="degree of the filter, 1 to 12")
    shared.add_argument("--seed", type=int, default=0, help="of the order of rows, default 0")
    shared.add_argument("--json", action="store_true", help="answer in JSON")
    shared.add_argument("-q", "--quiet", action="store_true", help="no progress, no notes")
    shared.add_argument("--debug", action="store_true", help="full trace of an error")
    return shared


def _size(text: str) -> int | str:
    return "auto" if text == "auto" else _count(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)
