"""Columns whose values are known, and how people write them: the truth that files are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
WORDS = ("red", "green", "blue", "dark red", "x,y", "a;b", 'he said "no"', "tab\there", "a|b", "ü",
         "naïve", "line\nbreak", "return\r\nbreak", "'quoted'", '"', "#hash", "=1+1", "1.2.3",
         "a12", "1/2024", "é" * 30, "NA or not", "yes and no", "€", "<b>", "\\n")  # fmt: skip
NAMES = (
    "size", "Größe", "a b", "x,y", "x;y", 'the "best"', "two\nlines", "re\rturn", "two\r\nends",
    "a|b", "t\tb", "=sum", "<i>", "größer als 1 €", "n" * 300, "'q'", "col#1", "a=b", "1st",
)  # fmt: skip
BOOLEANS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("yes", "no"), ("T", "F"))
MISSING = ("", "", "NA", "N/A", "null", "NaN", "None", "#N/A", "nan")
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Column:
    """Values as Python has them, None where missing, and how a file of text writes them."""

    name: str
    kind: str
    values: list[Any]
    written: list[str]
    # Numbers are read as `float` does; what is divided may be rounded once more.
    tolerance: float = 0.0

    @property
    def truth(self) -> list[Any]:
        """What a reader must find: numbers, dates in days, texts."""
        if self.kind == "percent":
            return [None if value is None else float(value) / 100 for value in self.values]
        return [as_read(value) for value in self.values]

    def rows(self, keep: Any) -> Column:
        found = [[part[i] for i in keep] for part in (self.values, self.written)]
        return replace(self, values=found[0], written=found[1])


def as_read(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return (value - _EPOCH) / timedelta(days=1)
    if isinstance(value, date):
        return float((value - _EPOCH.date()).days)
    if isinstance(value, time):
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return (seconds + value.microsecond / 1e6) / 86400
    return value / timedelta(days=1) if isinstance(value, timedelta) else float(value)


@dataclass(frozen=True)
class Style:
    """Signs of numbers: between whole and part, and between thousands."""

    decimal: str = "."
    thousands: str = ""

    def number(self, value: Any, spec: str = "") -> str:
        text = format(value, f"{',' if self.thousands else ''}{spec}")
        signs = {",": self.thousands, ".": self.decimal}
        return "".join(signs.get(sign, sign) for sign in text)


def _digits(rng: Rng, most: int) -> int:
    """A whole number of a random number of digits."""
    sign = -1 if rng.random() < 0.3 else 1
    return sign * int("".join(map(str, rng.integers(0, 10, rng.integers(1, most + 1)))))


def _decimal(rng: Rng) -> Decimal:
    # Three places could also be thousands.
    return Decimal(_digits(rng, 7)).scaleb(-int(rng.choice([1, 2, 4, 5])))


def _day(rng: Rng) -> date:
    return date(1902, 1, 1) + timedelta(days=int(rng.integers(0, 60_000)))


def _moment(rng: Rng) -> datetime:
    return datetime.combine(_day(rng), _clock(rng))


def _clock(rng: Rng) -> time:
    return time(*map(int, rng.integers(0, (24, 60, 60))))


def _money(rng: Rng, style: Style) -> tuple[Decimal, str]:
    value = Decimal(_digits(rng, 8)).scaleb(-2)
    text, sign = style.number(abs(value), ".2f"), "-" if value < 0 else ""
    ways = [f"{sign}${text}", f"{sign}{text} €", f"{sign}£{text}", f"({text})" if sign else text]
    return value, ways[rng.integers(len(ways))]


def _percent(rng: Rng, style: Style) -> tuple[Decimal, str]:
    value = Decimal(_digits(rng, 4)).scaleb(-2)
    return value, f"{Style(style.decimal).number(value, 'f')}%"


def _zoned(rng: Rng, style: Style) -> tuple[datetime, str]:
    zone = timezone(timedelta(minutes=int(rng.integers(-20, 21)) * 30))
    value = _moment(rng).replace(tzinfo=zone)
    return value, value.isoformat()


def _dates(*ways: str) -> Callable[[Rng, Style], Any]:
    """Dates that are written in one way; their two digits of a year are of 1969 to 2068."""

    def draw(rng: Rng, style: Style) -> tuple[date, str]:
        value = date(1970, 1, 1) + timedelta(days=int(rng.integers(0, 35_000)))
        # A day above 12 shows the order.
        value += timedelta(days=15 * (value.day < 13))
        return value, value.strftime(ways[rng.integers(len(ways))])

    return draw


def _with_unit(unit: str) -> Callable[[Rng, Style], Any]:
    def draw(rng: Rng, style: Style) -> tuple[Decimal, str]:
        value = _decimal(rng)
        return value, f"{Style(style.decimal).number(value, 'f')}{unit}"

    return draw


def _bounded(rng: Rng, style: Style) -> tuple[Decimal, str]:
    value = _decimal(rng)
    sign = rng.choice(["", "", "<", ">", "~", "\u2264 "])
    return value, f"{sign}{Style(style.decimal).number(value, 'f')}"


def _seconds(rng: Rng) -> timedelta:
    return timedelta(seconds=int(rng.integers(0, 300_000)))


def _period(value: timedelta) -> str:
    return f"P{value.days}DT{value.seconds}S"


def _plain(make: Callable[[Rng], Any], spec: str = "") -> Callable[[Rng, Style], Any]:
    def draw(rng: Rng, style: Style) -> tuple[Any, str]:
        value = make(rng)
        return value, Style(style.decimal).number(value, spec)

    return draw


def _written(make: Callable[[Rng], Any], write: Callable[[Any], str]) -> Callable[..., Any]:
    def draw(rng: Rng, style: Style) -> tuple[Any, str]:
        value = make(rng)
        return value, write(value)

    return draw


def _grouped(rng: Rng, style: Style) -> tuple[Decimal, str]:
    value = Decimal(_digits(rng, 9)).scaleb(-2)
    return value, style.number(value, ".2f")


DRAWS: dict[str, Callable[[Rng, Style], tuple[Any, str]]] = {
    "integer": _plain(lambda rng: _digits(rng, 6)),
    "decimal": _plain(_decimal, "f"),
    "float": _plain(lambda rng: float(rng.standard_normal() * 10.0 ** rng.integers(-9, 10))),
    "exponent": _plain(lambda rng: float(f"{rng.integers(-9999, 9999)}e{rng.integers(-30, 30)}")),
    "big": _plain(lambda rng: 2**53 + _digits(rng, 20)),
    "big64": _plain(lambda rng: 2**53 + _digits(rng, 18)),
    "thousands": _grouped,
    "money": _money,
    "percent": _percent,
    "date": _written(_day, date.isoformat),
    "moment": _written(_moment, datetime.isoformat),
    "spaced": _written(_moment, lambda value: value.isoformat(" ")),
    "zoned": _zoned,
    "clock": _written(_clock, time.isoformat),
    "month first": _dates("%m/%d/%Y"),
    "day first": _dates("%d.%m.%Y"),
    "short year": _dates("%d/%m/%y"),
    "named month": _dates("%d-%b-%Y", "%B %d, %Y", "%a, %d %b %Y"),
    "afternoon": _written(_clock, lambda value: value.strftime("%I:%M:%S %p")),
    "lasting": _written(_seconds, lambda value: str(pd.Timedelta(value))),
    "period": _written(_seconds, _period),
    "metres": _with_unit(" m2"),
    "kilos": _with_unit("kg"),
    "bounded": _bounded,
}
# Of files that have types: durations, text with a decimal comma beside numbers of three places.
TYPED = {
    "duration": _written(_seconds, str),
    "comma": _written(_decimal, lambda value: f"{value:f}".replace(".", ",")),
    "thirds": _written(lambda rng: Decimal(_digits(rng, 6)).scaleb(-3), str),
}


def text_column(rng: Rng, name: str, n_rows: int, words: tuple[str, ...] = WORDS) -> Column:
    """Words, sometimes with a few numbers among them, which stay words."""
    chosen = [str(word) for word in rng.choice(np.array(words, object), rng.integers(2, 8))]
    drawn = rng.integers(len(chosen), size=n_rows)
    values = [chosen[i] for i in drawn]
    if rng.random() < 0.2 and n_rows > 20:
        for i in rng.choice(n_rows, n_rows // 5, replace=False):
            values[i] = str(rng.integers(100))
    return Column(name, "text", values, list(values))


def boolean_column(rng: Rng, name: str, n_rows: int) -> Column:
    pair = BOOLEANS[rng.integers(len(BOOLEANS))]
    values = [bool(value) for value in rng.random(n_rows) < 0.5]
    return Column(name, "boolean", values, [pair[0] if value else pair[1] for value in values])


def column(rng: Rng, kind: str, name: str, n_rows: int, style: Style) -> Column:
    if kind == "text":
        return text_column(rng, name, n_rows)
    if kind == "boolean":
        return boolean_column(rng, name, n_rows)
    drawn = [(DRAWS | TYPED)[kind](rng, style) for _ in range(n_rows)]
    values, written = map(list, zip(*drawn, strict=True))
    is_divided = kind in ("percent", "date", "moment", "spaced", "zoned", "clock", "duration",
                          "afternoon", "lasting", "period")  # fmt: skip
    return Column(name, kind, values, written, 1e-12 if is_divided else 0.0)


def with_strays(rng: Rng, column: Column) -> Column:
    """A few words among numbers, which are missing values."""
    present = [i for i, value in enumerate(column.values) if value is not None]
    values, written = list(column.values), list(column.written)
    for i in rng.permutation(present)[: len(present) // 12]:
        values[i], written[i] = None, str(rng.choice(["unknown", "n.k.", "see note"]))
    return replace(column, values=values, written=written)


def with_missing(rng: Rng, column: Column, words: tuple[str, ...] = MISSING) -> Column:
    """Some of the values are missing, written by a word for that."""
    gone = rng.random(len(column.values)) < rng.choice([0.02, 0.2, 0.4])
    word = words[rng.integers(len(words))]
    values = [None if at else value for value, at in zip(column.values, gone, strict=True)]
    written = [word if at else text for text, at in zip(column.written, gone, strict=True)]
    return replace(column, values=values, written=written)
