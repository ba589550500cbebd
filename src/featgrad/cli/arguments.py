"""The argument parser."""

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
        prog="featgrad", description="Select the features of a file that best predict a target."
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    shared = [_output_options(), _reading_options()]

    def add(name: str, run: object, text: str, *more: ArgumentParser) -> ArgumentParser:
        parents = [*shared, *more]
        added = subparsers.add_parser(name, help=text, description=text, parents=parents)
        added.add_argument("file", type=Path, metavar="FILE", help=_FILE)
        added.set_defaults(run=run)
        return added

    task, search = ArgumentParser(add_help=False), _search_options()
    task.add_argument("--task", choices=TASKS, default="auto", help="type of the target")
    select = add("select", commands.select, "select features", task, search)
    option = select.add_argument
    option("-k", type=_size, default="auto", metavar="N|auto", help="number of features")
    option("--fdr", type=_rate, metavar="RATE", help="as many as keep this false discovery rate")
    option("--out", type=Path, metavar="PATH", help="write the features: .json, .csv or .txt")
    option("--report", type=Path, metavar="PATH", help="write a report: .html")
    option("--write", type=Path, metavar="PATH", help="write their columns and the target")
    option("--explain", action="store_true", help="print which search ran, and why")
    score = add("score", commands.score, "estimate how much features explain", task)
    score.add_argument("--features", nargs="+", metavar="COL", help="default: all")
    text = "estimate how much the best set of each size explains"
    path = add("path", commands.path, text, task, search)
    path.add_argument("--sizes", nargs="+", type=_count, metavar="N", help="numbers of features")
    add("info", commands.info, "describe the contents of a file", task)
    convert = add("convert", commands.convert, "convert a file to Arrow, which is read much faster")
    convert.add_argument("out_file", type=Path, metavar="OUT", help=".arrow")
    completion = subparsers.add_parser("completion", help="print a shell's completion script")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=lambda given: complete(parser, given.shell), debug=False)
    return parser


def _output_options() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--seed", type=int, default=0, help="random seed, default 0")
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument("-q", "--quiet", action="store_true", help="no progress, no notes")
    shared.add_argument("--debug", action="store_true", help="full traceback of an error")
    return shared


def _reading_options() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    group = shared.add_argument_group("how to read FILE")
    add = group.add_argument
    add("--target", metavar="COL", help="column to predict; not for .svm, .vw and converted files")
    add("--weight", metavar="COL", help="column of sample weights")
    add("--format", choices=FORMATS, help="default: detected")
    add("--exclude", nargs="+", metavar="COL", help="columns to ignore")
    add("--categorical", nargs="+", metavar="COL", help="columns of text; default: detected")
    add("--hash-dim", type=_count, metavar="N", help="hash text columns into N features")
    add("--on-bad-rows", choices=ON_BAD_ROWS, default="error", help="stop, or skip and count")
    add("--float32", action="store_true", help="single precision: half the memory, seven digits")
    return shared


def _search_options() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    group = shared.add_argument_group("search")
    add = group.add_argument
    add("--keep", nargs="+", metavar="COL", help="features that must be selected")
    add("--ungrouped", action="store_true", help="select single values of a text column")
    add("--resamples", type=_count, default=0, metavar="N", help="halves of the rows for stability")
    add("--checkpoint", type=Path, metavar="PATH", help="large files: resume if interrupted")
    add("--device", metavar="NAME", help="fit on an accelerator, such as cuda; needs torch")
    add("--order", type=_count, default=4, help="degree of the filter, 1 to 12, default 4")
    return shared


def _size(text: str) -> int | str:
    return "auto" if text == "auto" else _count(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1:
        raise ArgumentTypeError(f"{text!r} is no number between 0 and 1, such as 0.1")
    return rate


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)
