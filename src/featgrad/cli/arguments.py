"""The argument parser, and completion scripts for shells that are made from it."""

from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from pathlib import Path
from typing import NoReturn

from featgrad.options import HALF_LIFE, ON_BAD_ROWS, TASKS, version_of
from featgrad.readers.formats import FORMATS

_FILE = (
    ".csv, .tsv, .txt, .xlsx, .jsonl, .parquet (also a folder, a quoted pattern or several), "
    ".arrow, .svm or .npy; text also compressed; - for standard input"
)
_EXAMPLES = {
    "info": [
        "featgrad info patients.csv --target diagnosis",
        "featgrad info export.csv --sep ';' --decimal ,",
    ],
    "select": [
        "featgrad select patients.csv --target diagnosis",
        "featgrad select patients.csv --target diagnosis -k 10 --report report.html",
        "featgrad select visits.csv --target diagnosis --group patient",
        "featgrad select big.parquet --target y --checkpoint fit.npz --write small.parquet",
        "featgrad select 'part-*.parquet' --target y --dask tcp://scheduler:8786",
    ],
    "construct": [
        "featgrad construct patients.csv --target diagnosis -k 6 --formula",
        "featgrad construct sales.csv --target y --operations products,hinges --write small.csv",
    ],
    "score": ["featgrad score patients.csv --target diagnosis --features age bmi"],
    "path": ["featgrad path patients.csv --target diagnosis --sizes 1 2 5 10 20"],
    "watch": ["featgrad watch patients.csv --target diagnosis -k 6 --half-life 500"],
    "convert": ["featgrad convert clicks.csv clicks.arrow --target click --hash-dim 1048576"],
}

_ROBUST = "clip outliers of features, and of targets that are numbers"
_BASH = """_featgrad() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="%s"
  else
    case "${COMP_WORDS[1]}" in
%s
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _featgrad featgrad"""


class UsageError(ValueError):
    """The command line names something that does not exist; exit code 2."""


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, as for all errors: the list of options would hide it."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def build_parser() -> ArgumentParser:
    parser: ArgumentParser = _Parser(
        prog="featgrad",
        description="Select the features of a file that best predict a target.",
        epilog=_examples([commands[0] for commands in _EXAMPLES.values()]),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"featgrad {version_of('featgrad')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    shown = ArgumentParser(add_help=False)
    shown.add_argument("--seed", type=int, default=0, help="random seed; default: 0")
    shown.add_argument("--json", action="store_true", help="print JSON")
    shown.add_argument("-q", "--quiet", action="store_true", help="no progress, no notes")
    shown.add_argument("--debug", action="store_true", help="full traceback of an error")
    shared = [shown, _reading_options()]

    def add(name: str, text: str, *more: ArgumentParser) -> ArgumentParser:
        added = subparsers.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=_examples(_EXAMPLES[name]),
            formatter_class=RawDescriptionHelpFormatter,
            parents=[*shared, *more],
        )
        added.add_argument("file", nargs="+", metavar="FILE", help=_FILE)
        added.set_defaults(run=name)
        return added

    task, result = ArgumentParser(add_help=False), ArgumentParser(add_help=False)
    held_out, search = _search_options()
    task.add_argument("--task", choices=TASKS, default="auto", help="type of the target")
    text = "number of features; default: auto, the fewest that predict as well as any"
    result.add_argument("-k", type=_size, default="auto", metavar="N|auto", help=text)
    text = "write their columns and the target"
    result.add_argument("--write", type=Path, metavar="PATH", help=text)
    result.add_argument("--report", type=Path, metavar="PATH", help="write a report: .html")
    add("info", "describe the contents of a file", task)
    option = add("select", "select features", task, held_out, search, result).add_argument
    option("--fdr", type=_rate, metavar="RATE", help="as many as keep this false discovery rate")
    option("--out", type=Path, metavar="PATH", help="write the features: .json, .csv or .txt")
    option("--explain", action="store_true", help="print which search ran, and why")
    text = "construct features: products of columns, curves and others"
    option = add("construct", text, task, held_out, result).add_argument
    text = (
        "some of products, hinges, bent, logs, roots, ratios, lags, rolling; default: %(default)s"
    )
    option("--operations", default="products,hinges,bent", metavar="A,B", help=text)
    option("--formula", action="store_true", help="print all chosen features in one line")
    score = add("score", "estimate how much features explain", task)
    score.add_argument("--features", nargs="+", metavar="COL", help="default: all")
    score.add_argument("--robust", action="store_true", help=_ROBUST)
    text = "estimate how much the best set of each size explains"
    path = add("path", text, task, held_out, search)
    text = "numbers of features, default 1 to 300"
    path.add_argument("--sizes", nargs="+", type=_count, metavar="N", help=text)
    watch = add("watch", "follow which features matter, row after row", task)
    watch.add_argument("-k", type=_count, default=10, metavar="N", help="number of features")
    text = f"rows after which a row counts half, default {HALF_LIFE}"
    watch.add_argument("--half-life", type=_count, default=HALF_LIFE, metavar="ROWS", help=text)
    watch.add_argument("--report", type=Path, metavar="PATH", help="write a timeline: .html")
    text = "all classes of the target, where its first rows may lack some"
    watch.add_argument("--classes", nargs="+", metavar="CLASS", help=text)
    convert = add("convert", "convert a file to Arrow, which is read much faster")
    convert.add_argument("out_file", type=Path, metavar="OUT", help=".arrow")
    completion = subparsers.add_parser("completion", help="print a shell's completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    completion.set_defaults(run="completion")
    return parser


def _reading_options() -> ArgumentParser:
    shared = ArgumentParser(add_help=False)
    group = shared.add_argument_group("how to read FILE")
    add = group.add_argument
    add("--target", metavar="COL", help="column to predict; not for .svm and converted files")
    add("--weight", metavar="COL", help="column of sample weights")
    add("--format", choices=tuple(FORMATS), help="default: detected")
    add("--sep", type=_separator, metavar="CHAR", help="between fields: , ; tab | ; default: found")
    add("--decimal", choices=(".", ","), help="decimal sign, default: found")
    add("--encoding", metavar="NAME", help="such as utf-8, utf-16 or cp1252; default: found")
    add("--header", action=BooleanOptionalAction, help="the first line has names; default: found")
    text = "lines above the header, such as titles; default: found"
    add("--skip-rows", type=int, metavar="N", help=text)
    add("--sheet", metavar="NAME", help="sheet of an Excel file, or its number; default: 1")
    text = "rows are the variables, as where genes are in rows"
    add("--transpose", action="store_true", default=None, help=text)
    text = "more words for a missing value than NA, null, ? ..."
    add("--na", nargs="+", metavar="WORD", dest="na_values", help=text)
    add("--exclude", nargs="+", metavar="COL", help="columns to ignore")
    add("--names", type=Path, metavar="FILE", help="a name in each line: of .svm and .npy files")
    add("--categorical", nargs="+", metavar="COL", help="columns of text; default: detected")
    add("--hash-dim", type=_count, metavar="N", help="hash text columns into N features")
    text = "stop at an invalid row, or skip and count such rows; default error"
    add("--on-bad-rows", choices=ON_BAD_ROWS, default="error", help=text)
    add("--float32", action="store_true", help="single precision: half the memory, seven digits")
    return shared


def _search_options() -> tuple[ArgumentParser, ArgumentParser]:
    """Which rows are held out and what is kept, and all else of a selection."""
    held_out, others = ArgumentParser(add_help=False), ArgumentParser(add_help=False)
    add = held_out.add_argument_group("search").add_argument
    add("--keep", nargs="+", metavar="COL", help="features that must be selected")
    text = "column or columns whose rows belong together, such as a patient: held out together"
    add("--group", nargs="+", metavar="COL", dest="groups", help=text)
    add("--in-order", action="store_true", help="rows are in order of time: hold out later ones")
    add("--time", metavar="COL", help="column of numbers or dates that gives the order of rows")
    add = others.add_argument_group("search").add_argument
    add("--ungrouped", action="store_true", help="select single values of a text column")
    text = "halves of the rows for stability, default 0"
    add("--resamples", type=_count, default=0, metavar="N", help=text)
    add("--checkpoint", type=Path, metavar="PATH", help="large files: resume if interrupted")
    text = "fit on a Dask cluster: its address, or local for the cores of this machine"
    add("--dask", metavar="ADDRESS", help=text)
    add("--device", metavar="NAME", help="fit on an accelerator, such as cuda; needs torch")
    add("--robust", action="store_true", help=_ROBUST)
    return held_out, others


def _examples(commands: list[str]) -> str:
    return "\n".join(["examples:", *(f"  {command}" for command in commands)])


def _separator(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}.get(text, text)
    if len(text) != 1:
        raise ArgumentTypeError(f"{text!r} is not a single character or 'tab'")
    return text


def _size(text: str) -> int | str:
    return "auto" if text == "auto" else _count(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1:
        raise ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.1")
    return rate


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def completion_script(parser: ArgumentParser, shell: str) -> str:
    """Commands and the options of each, for a shell to complete."""
    (commands,) = (a for a in parser._actions if isinstance(a, _SubParsersAction))
    options = {
        name: " ".join(option for action in command._actions for option in action.option_strings)
        for name, command in commands.choices.items()
    }
    every = " ".join(options)
    if shell == "fish":
        words = {"__fish_use_subcommand": every}
        words |= {f"'__fish_seen_subcommand_from {name}'": own for name, own in options.items()}
        return "\n".join(f"complete -c featgrad -n {at} -a '{own}'" for at, own in words.items())
    cases = "\n".join(f'      {name}) words="{own}" ;;' for name, own in options.items())
    start = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return start + _BASH % (every, cases)
