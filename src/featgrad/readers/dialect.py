"""How a file of separated values is written: found from its first bytes, or given."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import dropwhile, islice, product, zip_longest
from typing import NamedTuple

import numpy as np

from featgrad._support.wording import counted, listed
from featgrad.plan import STRAY_SHARE
from featgrad.readers.columns import repeated
from featgrad.readers.tokens import NA_WORDS, Tokens

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Records that are looked at.
_RECORDS = 100
# Lines at the end that may be no rows, and labels of rows that hold totals of the columns.
_FOOTERS = 10
_TOTALS = re.compile(
    r"((grand|sub|over) ?-?(all )?)?(totals?|sums?|summen?|gesamt(summe)?|insgesamt|somme|totaal|"
    r"totale|suma|means?|averages?|mittelwert|durchschnitt)\W*", re.IGNORECASE
)  # fmt: skip
# In place of a carriage return, for the module csv.
_RETURN = "\ue000"


def check_dialect(sep: str | None, decimal: str | None, encoding: str | None) -> str | None:
    """The separator; raises an error for what cannot be used. None is found from the file."""
    sep = "\t" if sep in ("\\t", "tab") else sep
    if sep is not None and (len(sep) != 1 or not sep.isascii()):
        raise ValueError(f"sep={sep!r} cannot be used: give one character.")
    if decimal not in (None, ".", ",") or (decimal or "") == sep:
        raise ValueError(f"decimal={decimal!r} cannot be used: give '.' or ',', not sep.")
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise ValueError(
            f"encoding={encoding!r} is unknown: use 'utf-8', say, or 'cp1252'."
        ) from None
    return sep


class Dialect(NamedTuple):
    """Separator, decimal sign, missing words, and the lines before the data."""

    sep: str
    decimal: str
    names: tuple[str, ...]
    header_lines: int
    na_values: tuple[str, ...]
    title_lines: int = 0  # of the lines before the data, those above the header
    notes: tuple[str, ...] = ()
    problem: str = ""  # why it cannot be read as a table without help

    def __str__(self) -> str:
        parts = [f"separated by {SEPARATORS.get(self.sep, repr(self.sep))}"]
        parts += ["decimal comma"] if self.decimal == "," else []
        if not self.header_lines:
            parts.append(f"no header: columns are named {self.names[0]} to {self.names[-1]}")
        return ", ".join(parts)

    def footers(self, text: str, *, is_whole: bool) -> tuple[int, list[str]]:
        """How many of the last lines are no rows, but footnotes or totals of columns; and notes."""
        records, n_last, found = list[list[str]](), 0, Counter[str]()
        with suppress(csv.Error):
            for line in text.removesuffix("\n").split("\n")[self.header_lines * is_whole :]:
                fields = next(csv.reader([line], delimiter=self.sep), [])
                records.append([field.strip() for field in fields])
                if line.count('"') % 2:
                    records.clear()  # a quoted field may go over several lines
        for place in range(1, min(_FOOTERS, len(records)) + 1):
            above = [record for record in records[:-place] if any(record)]
            what = self._footer(records[-place], above, is_whole=is_whole)
            if any(records[-place]) and what is None:
                break
            if what is not None:
                n_last, found[what] = place, found[what] + 1
        notes = (counted(n, what) + " of totals" * (what == "row") for what, n in found.items())
        return n_last, [f"left out at the end: {note}" for note in notes]

    def _footer(
        self, last: Sequence[str], above: Sequence[Sequence[str]], *, is_whole: bool
    ) -> str | None:
        """What a record is if it is no row of the table."""
        width, filled = len(self.names), [field for field in last if field]
        if width < 3 or not above or not filled:
            return None

        def is_short(record: Sequence[str]) -> bool:
            """Whether at most half of the columns have a field, and only one or the first ones."""
            n_filled = sum(map(bool, record))
            return 2 * n_filled <= width and (n_filled == 1 or len(record) < width)

        is_word, *are_words = (not is_number for is_number in _are_numbers(filled, self.decimal))
        # Other footnotes may stand right above; where rows are as short, this may be one.
        rows = dropwhile(is_short, reversed(above))
        if is_short(last) and last[0] and is_word and not any(map(is_short, rows)):
            return "footnote"
        if len(last) != width or any(are_words):
            return None
        if is_word:
            is_new = not any(filled[0] in record for record in above)
            is_total = is_new and _TOTALS.fullmatch(filled[0]) is not None
        else:
            is_total = is_whole and _are_sums(
                [*(row for row in above if len(row) == width), last], self.decimal
            )
        return "row" if is_total else None


def encoding_of(head: bytes) -> str:
    """By its mark, its zeros, or because it is not UTF-8."""
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    even, odd = head[:200:2].count(0), head[1:200:2].count(0)
    if 5 * (even + odd) > len(head[:200]):
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def dialect_of(
    name: str, head: bytes, columns: Sequence[str] | None, sep: str | None, decimal: str | None,
    header: bool | None, na_values: Sequence[str], skip_rows: int | None = None,
) -> Dialect:  # fmt: skip
    """From the first lines, as UTF-8; None is found."""
    skipped = skip_rows or 0
    text = "".join(head.decode("utf-8", "replace").split("\n", skipped)[skipped:])
    if hint := re.match(r" *sep=(\S|\t)[ \r]*\n", text, re.IGNORECASE):  # for Excel
        skipped, sep, text = skipped + 1, sep or hint[1], text[hint.end() :]
    records, lines = _records(text, sep) if sep else ([], [])
    if sep is None:
        sep, records, lines = _separated(text, len(columns or ()), decimal)
    # Of separators alone no names are made up.
    if not records or (columns is None and header is not False and not any(map(any, records))):
        raise ValueError(f"{name} has no header with names of columns: it is empty.")
    decimal = decimal or decimal_of(records, sep)
    header = header if columns is None else False
    title = _n_titles(records, decimal) if header is not False and skip_rows is None else 0
    records, lines, notes, problem = records[title:], [0, *lines][title:], list[str](), ""
    title_lines = header_lines = skipped + lines[0]
    if title:
        to_line = f" to {title_lines}" if title_lines > skipped + 1 else ""
        notes.append(f"left out above the header: line{'s' * bool(to_line)} {skipped + 1}{to_line}")
    if header is None:
        # Below a title numbers may be names, but not all of them.
        are_names = title > 0 and not all(_are_numbers(records[0], decimal))
        header = are_names or _has_header(records, decimal)
    names = list(columns or records[0]) if header or columns else [""] * len(records[0])
    if columns is None and header:
        names, problem = _fitted(records[0], records[1:])
        problem = problem and f"{name}, line {skipped + lines[1]}: {problem}"
        header_lines = skipped + lines[1]
        if _holds_units(records, decimal):
            header_lines = skipped + lines[2]
            notes.append(f"left out as units of the columns: line {header_lines}")
        if not names[0] and "index" not in names:
            names[0] = "index"  # as pandas and R write it
    names = [name or f"column{i}" for i, name in enumerate(names, 1)]
    twice = repeated(names) if columns is None else []
    for first in twice:
        for i, place in enumerate([p for p, other in enumerate(names) if other == first]):
            names[place] = f"{first}.{i}" if i else first
    if twice:
        notes.append(f"names that come again are numbered: {listed([f'{n}.1' for n in twice], 5)}")
    found = (sep, decimal, tuple(names), header_lines, tuple(na_values))
    return Dialect(*found, title_lines, tuple(notes), problem)


def are_blanks(head: bytes) -> bool:
    """Whether blanks separate fields, equally many in all lines, and there is no other separator.

    A first line may lack the name of the first column.
    """
    lines = [line for line in head.split(b"\n")[:_RECORDS] if line.strip()]
    if any(sign.encode() in b"".join(lines) for sign in (*SEPARATORS, '"')):
        return False
    first, *counts = (len(line.split()) for line in lines) if lines else (0,)
    return len({*counts}) == 1 and counts[0] > 1 and counts[0] - first in (0, 1)


def _are_sums(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether all numbers of the last record are sums of those above them, and not all are 0."""
    fields = Tokens.from_bytes([field.encode() for row in rows for field in row])
    values = fields.numbers("number", decimal)[0].reshape(len(rows), -1)
    values = values[:, np.isfinite(values[-1])]
    sums, totals = np.nansum(values[:-1], axis=0), values[-1]
    are_sums = np.allclose(sums, totals, rtol=1e-6, atol=0) and np.count_nonzero(totals) > 1
    return len(rows) > 3 and bool(are_sums)


def _separated(
    text: str, n_columns: int, decimal: str | None
) -> tuple[str, list[list[str]], list[int]]:
    """The separator that splits most records into equally many fields, more than one.

    Of several such the one that leaves most numbers, and fewest fields that others would split:
    decimal commas split records as well. As many fields as there are names to give come first.
    Also the records, and the line on which each ends.
    """
    every = {sep: _records(text, sep) for sep in SEPARATORS}
    split = {sep: found for sep, (found, _) in every.items() if found and _usual(found) > 1}

    def fitness(sep: str) -> tuple[bool, bool, float, float, int]:
        records = split[sep]
        count, fields = _usual(records), [field for record in records for field in record]
        alike = sum(len(record) == count for record in records) / len(records)
        are_numbers = _are_numbers(fields, ".", ",")
        are_whole = [
            is_number or not any(other in field for other in split)
            for field, is_number in zip(fields, are_numbers, strict=True)
        ]
        are_fit = float(np.mean(are_numbers) + np.mean(are_whole))
        return count == n_columns, sep != decimal, alike, are_fit, count

    best = max(split, key=fitness) if len(split) > 1 else next(iter(split), ",")
    return best, *every[best]


def _usual(records: Sequence[Sequence[str]]) -> int:
    """The number of fields that most records have."""
    return Counter(map(len, records)).most_common(1)[0][0]


def _records(text: str, sep: str) -> tuple[list[list[str]], list[int]]:
    """The first records, and the line on which each ends."""
    # A carriage return within a line ends no record, and stays what it is.
    reader = csv.reader(io.StringIO(text.replace("\r", _RETURN)), delimiter=sep)
    records, lines = [], []
    # Text that is no CSV at all, or a quoted field beyond these lines.
    with suppress(csv.Error):
        for record in reader:
            if record and record != [_RETURN]:
                records.append([field.replace(_RETURN, "\r").strip() for field in record])
                lines.append(reader.line_num)
            if len(records) == _RECORDS:
                break
    return records, lines


def decimal_of(records: Sequence[Sequence[str]], sep: str) -> str:
    """The decimal sign that makes numbers of most columns."""
    if not any("," in "".join(record) for record in records):
        return "."
    signed = [
        (place, field)
        for record in records
        for place, field in enumerate(record)
        if "," in field or "." in field
    ]
    places, fields = map(list, zip(*signed, strict=True))
    with_point, with_comma = (np.array(_are_numbers(fields, decimal)) for decimal in ".,")
    more = np.bincount(places, with_comma) - np.bincount(places, with_point)
    # A few numbers with commas do not make thousands of those with points.
    is_many = more > STRAY_SHARE * np.bincount(places)
    votes = np.count_nonzero(is_many) - np.count_nonzero(more < 0)
    both = "".join(field for field, number in zip(fields, with_comma, strict=True) if number)
    # Where every comma could also stand before thousands.
    is_comma = sep == ";" and "," in both and "." not in both
    return "," if votes > 0 or (votes == 0 and is_comma) else "."


def _has_header(records: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first record names the columns.

    It does if it holds no number, if it is 0, 1, 2 and so on, or if a word stands above numbers.
    """
    first, *rest = records
    is_plain = not any(_are_numbers(first, decimal)) or _count_up(first)
    return is_plain or any(_words_above_numbers(first, rest, decimal))


def _count_up(fields: Sequence[str]) -> bool:
    """Whether they are the numbers from 0 or 1 on."""
    return list(fields) in ([str(start + i) for i in range(len(fields))] for start in (0, 1))


def _words_above_numbers(
    first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str
) -> list[bool]:
    """For each column whose fields, where they are there, are numbers: whether the first is not."""
    found, none = [], ("", *NA_WORDS)
    for name, *fields in islice(zip_longest(first, *rest, fillvalue=""), len(first)):
        below = [field for field in fields if field not in none]
        if below and all(_are_numbers(below, decimal)):
            found.append(name not in none and not _are_numbers([name], decimal)[0])
    return found


def _n_titles(records: Sequence[Sequence[str]], decimal: str) -> int:
    """Records above the header: they have half as many fields as others, or fewer."""
    filled = [sum(map(bool, record)) for record in records]
    usual = sorted(filled)[len(filled) // 2]
    place = next((i for i, count in enumerate(filled) if 2 * count > usual), 0)
    if place == 0 or filled[place] < usual - 1 or len(records) < place + 2:
        return 0
    # Names of columns stand above numbers, or titles are single fields above many others.
    above, below = records[:place], records[place]
    are_names = any(_words_above_numbers(below, records[place + 1 :], decimal))
    are_single = all(sum(map(bool, record)) == bool(record[0]) for record in above)
    # The one name of a header may stand above numbers, too, but has separators behind it.
    are_alone = all(len(record) == 1 for record in above) or not all(_are_numbers(below, decimal))
    are_titles = usual > 2 and are_single and are_alone
    return place if are_names or are_titles else 0


def _holds_units(records: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the record below the header has a word above the numbers of each of its columns."""
    if len(records) < 4:
        return False
    are_words = _words_above_numbers(records[1], records[2:], decimal)
    return len(are_words) > 1 and all(are_words)


def _fitted(header: Sequence[str], rest: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """As many names as most records have fields, and what is wrong with them."""
    names, usual = list(header), _usual(rest) if rest else len(header)
    same = [record for record in rest if len(record) == usual]
    if 2 * len(same) <= len(rest) or usual == len(names):
        pass
    elif usual < len(names) and not any(names[usual:]):
        names = names[:usual]  # separators at the end of the header
    elif usual == len(names) + 1 and not any(record[-1] for record in same):
        names.append("")  # separators at the end of all other lines
    elif usual == len(names) + 1 and _are_labels([record[0] for record in same]):
        names.insert(0, "")  # as R writes names of rows
    elif usual > len(names):
        few = f"its header has {len(header)} fields where most lines have {usual}"
        return names + [""] * (usual - len(names)), (
            f"{few}. Pass skip_rows=1, say, to leave out lines above the header, name every "
            "column, or pass sep if fields are separated by something else."
        )
    if "\ufffd" in "".join(names):
        return names, "its header is not UTF-8: pass encoding='cp1252', say."
    if len(names) == 1:
        return names, (
            f"only one column was found, {names[0][:40]!r}: pass sep if fields are separated by "
            "something other than a comma, semicolon, tab, bar or blanks."
        )
    return names, ""


def _are_labels(fields: Sequence[str]) -> bool:
    """Whether fields name rows: words that all differ, or the numbers of the rows."""
    all_differ = len({*fields}) == len(fields)
    return _count_up(fields) or (all_differ and not any(_are_numbers(fields, ".")))


def _are_numbers(fields: Sequence[str], *decimals: str) -> list[bool]:
    """Which fields are numbers, or percentages, with one of these decimal signs."""
    tokens = Tokens.from_bytes([field.encode() for field in fields])
    kinds = product(("number", "percent"), decimals)
    found = [tokens.numbers(*kind)[1] & tokens.present for kind in kinds]
    return np.any(found, axis=0).tolist()  # type: ignore[no-any-return]
