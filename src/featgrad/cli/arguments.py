"""What can be typed."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from featgrad.cli import commands
from featgrad.cli.completion import SHELLS, complete
from featgrad.math.targets import TASKS
from featgrad.readers.invalid_rows import ON_BAD_ROWS
from featgrad.readers.opening import FORMATS

_FILE = ".csv, .tsv, .parquet, .arrow, .svm, .vw or .npy; text also compressed"


def build_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="featgrad",
        description="Choose the features of a file that a target can best be predicted from.",
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    shared = [_answering(), _reading()]

    def add(name: str, run: object, text: str, *more: ArgumentParser) -> ArgumentParser:
        parents = [*shared, *more]
        added = subparsers.add_parser(name, help=text, description=text, parents=parents)
        added.add_argument("file", type=Path, metavar="FILE", help=_FILE)
        added.set_defaults(run=run)
        return added

    task, search = _task(), _searching()
    select = add("select", commands.select, "choose features", task, search)
    select.add_argument("-k", type=_size, default="auto", metavar="N|auto", help="how many")
    select.add_argument("--out", type=Path, metavar="PATH", help="write them: .json, .csv or .txt")
    select.add_argument("--report", type=Path, metavar="PATH", help="write a report: .html")
    select.add_argument("--write", type=Path, metavar="PATH", help="write them with the target")
    score = add("score", commands.score, "tell what features could explain", task)
    score.add_argument("--features", nargs="+", metavar="COL", help="default: all")
    text = "tell what the best set of each size explains"
    path = add("path", commands.path, text, task, search)
    path.add_argument("--sizes", nargs="+", type=_count, metavar="N", help="numbers of features")
    add("info", commands.info, "tell what a file holds", task)
    convert = add("convert", commands.convert, "write a file as Arrow, which is read much faster")
    convert.add_argument("out", type=Path, metavar="OUT", help=".arrow")
    completion = subparsers.add_parser("completion", help="print a shell's completion script")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=lambda given: complete(parser, given.shell), debug=False)
    return parser


def _answering() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--seed", type=int, default=0, help="of the order of rows, default 0")
    shared.add_argument("--json", action="store_true", help="answer in JSON")
    shared.add_argument("-q", "--quiet", action="store_true", help="no progress, no notes")
    shared.add_argument("--debug", action="store_true", help="full trace of an error")
    return shared


def _reading() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    group = shared.add_argument_group("how FILE is read")
    add = group.add_argument
    add("--target", metavar="COL", help="column to predict; .svm, .vw and converted files hold it")
    add("--weight", metavar="COL", help="column with the weights of rows")
    add("--format", choices=FORMATS, help="where neither name nor content tells")
    add("--exclude", nargs="+", metavar="COL", help="columns to leave out")
    add("--categorical", nargs="+", metavar="COL", help="columns of text; default: what looks so")
    add("--hash-dim", type=_count, metavar="N", help="hash texts into N features, many texts need")
    add("--on-bad-rows", choices=ON_BAD_ROWS, default="error", help="stop, or count and leave out")
    add("--float32", action="store_true", help="half the memory, seven digits")
    return shared


def _task() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--task", choices=TASKS, default="auto", help="what the target is")
    return shared


def _searching() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    group = shared.add_argument_group("what is searched for")
    add = group.add_argument
    add("--keep", nargs="+", metavar="COL", help="features that must be chosen")
    add("--ungrouped", action="store_true", help="choose among the texts of a column")
    add("--resamples", type=_count, default=0, metavar="N", help="halves of rows for stability")
    add("--checkpoint", type=Path, metavar="PATH", help="large files: go on from it if stopped")
    add("--order", type=_count, default=4, help="degree of the filter, 1 to 12, default 4")
    return shared


def _size(text: str) -> int | str:
    return "auto" if text == "auto" else _count(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)
