"""Dates in the usual orders, times of day and durations, as numbers of days."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Floats

# Which part of a date comes first where it is written in digits.
ORDERS = {"mdy": "month", "dmy": "day", "ymd": "year"}
COMPACT = "yyyymmdd"
_MIDNIGHT = re.compile(rb"24:00(:00([.,]0+)?)?(?![\d:.,])")
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1)
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
# Two digits of a year from here on are of the last century.
_LAST_CENTURY = 69
_CLOCK = (
    r"(?P<hours>\d{1,4}):(?P<minutes>[0-5]\d)(:(?P<seconds>([0-5]\d|60)([.,]\d+)?))?"
    r"(\s?(?P<half>[ap])\.?m\.?)?"
)
_DATE = re.compile(
    r"((mon|tue|wed|thu|fri|sat|sun)[a-z]*[,.]?\s)?"
    r"(?P<first>\d{1,4}|[a-z]{3,9})(?P<sign>[-/., ]{0,2})(?P<second>\d\d?|[a-z]{3,9})"
    rf"(?P<next>[-/., ]{{0,2}})(?P<third>\d{{1,4}})([t ,]{{1,2}}{_CLOCK}"
    r"(\s?(z|utc|gmt|(?P<zone>[-+]\d\d:?\d\d)))?)?",
    re.IGNORECASE,
)
_PERIOD = re.compile(rf"(?P<sign>-?)((?P<days>\d+)\s?d(ays?)?,?)?(\s?\+?{_CLOCK})?", re.IGNORECASE)
_ISO_PERIOD = re.compile(
    r"(?P<sign>-?)P((?P<weeks>[\d.]+)W)?((?P<days>[\d.]+)D)?(T((?P<hours>[\d.]+)H)?"
    r"((?P<minutes>[\d.]+)M)?((?P<seconds>[\d.]+)S)?)?"
)


def days_in(texts: NDArray[np.bytes_], order: str, *, is_clock: bool) -> Floats:
    """Dates in days since 1970, or times and durations in days; NaN for anything else."""
    days = np.full(len(texts), np.nan)
    parse = _duration if is_clock else partial(_date, order=order)
    is_iso = np.strings.find(texts, b":") == 2
    if not is_clock:
        is_iso = (np.strings.find(texts, b"-") == 4) & (np.strings.find(texts, b"-", 5) == 7)
    if order != COMPACT:
        days[is_iso] = _iso_days(texts[is_iso], is_clock=is_clock)
    others = np.flatnonzero(np.isnan(days))
    # Most dates occur in several rows.
    known = {text: parse(text.decode(errors="replace")) for text in {*texts[others].tolist()}}
    days[others] = [known[text] for text in texts[others].tolist()]
    return days


def _iso_days(texts: NDArray[np.bytes_], *, is_clock: bool) -> Floats:
    """``yyyy-mm-dd``, perhaps with a time, or ``hh:mm``: most of them without a loop."""
    days = np.empty(len(texts))
    texts = np.strings.add(b"1970-01-01T", texts) if is_clock else np.strings.rstrip(texts, b"zZ")
    # NumPy warns of other zones, and takes any word for one.
    is_zoned = (np.strings.find(texts, b"+") > 0) | (np.strings.rfind(texts, b"-") > 7)
    is_zoned |= np.strings.rstrip(texts, b"0123456789") == texts
    try:
        days[~is_zoned] = as_days(texts[~is_zoned].astype("datetime64[us]"))
    except ValueError:
        is_zoned[:] = True
    days[is_zoned] = [_iso_day(text) for text in texts[is_zoned].tolist()]
    return days


def as_days(times: NDArray[Any]) -> Floats:
    """Dates, in days since 1970, or durations; NaN where there is none.

    In their own unit: nanoseconds reach from 1677 to 2262 only.
    """
    return np.asarray((times - times.dtype.type(0, "D")) / np.timedelta64(1, "D"))


def _iso_day(text: bytes) -> float:
    """A date with a zone in days since 1970; NaN for anything else."""
    # ISO 8601 has 24:00, the end of a day, and leap seconds, but not every version of Python.
    more = timedelta(days=bool(_MIDNIGHT.match(text, 11)), seconds=text[16:19] == b":60")
    if more:
        text = text[:11] + (b"00" + text[13:] if more.days else text[11:17] + b"59" + text[19:])
    try:
        when = datetime.fromisoformat(text.decode()) + more
    except (ValueError, OverflowError):
        return np.nan
    return (when.replace(tzinfo=when.tzinfo or UTC) - _EPOCH) / _DAY


def _date(text: str, order: str) -> float:
    """A date whose digits are in this order, which names of months do not need."""
    if order == COMPACT:
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}" if re.fullmatch(r"\d{8}", text) else ""
    found = _DATE.fullmatch(text)
    if found is None:
        return np.nan
    fields = first, second, _ = found["first"], found["second"], found["third"]
    signs = found["sign"], found["next"]
    if len(first) == 4 and first.isdigit():
        order = "ymd"
    elif first.isalpha() or second.isalpha():
        order = "mdy" if first.isalpha() else "dmy"
    year, month, day = (fields[order.index(part)] for part in "ymd")
    if month.isdigit() and (signs[0] != signs[1] or signs[0] not in ("-", "/", ".")):
        return np.nan
    is_split = second.isalpha() or signs[1]
    if not (is_split and day.isdigit() and len(day) < 3 and len(year) in (2, 4)):
        return np.nan
    century = "" if len(year) == 4 else "19" if int(year) >= _LAST_CENTURY else "20"
    names = (i for i, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()))
    iso = f"{century}{year}-{next(names, month):0>2}-{day:0>2}"
    if found["hours"] is not None:
        clock = f"{_hours(found)}:{found['minutes']}:{found['seconds'] or '00'}"
        iso = f"{iso}T{clock}{found['zone'] or ''}"
    return _iso_day(iso.encode())


def _hours(clock: re.Match[str]) -> str:
    hours, half = int(clock["hours"]), (clock["half"] or "").lower()
    if half and not 1 <= hours <= 12:
        return "none"
    return f"{hours % 12 + 12 * (half == 'p') if half else hours:02}"


def _duration(text: str) -> float:
    """Times of day, and durations: ``1:23:45``, ``2 days 03:00:00``, ``PT1H30M``; in days."""
    found = _PERIOD.fullmatch(text) or _ISO_PERIOD.fullmatch(text)
    if found is None or not any(map(str.isdigit, text)):
        return np.nan
    given = {part: (value or "0").replace(",", ".") for part, value in found.groupdict().items()}
    if found.groupdict().get("half"):
        given["hours"] = _hours(found)
    try:
        days = timedelta(**{part: float(given.get(part, 0)) for part in ("weeks", "days")})
        rest = timedelta(**{part: float(given[part]) for part in ("hours", "minutes", "seconds")})
    except (ValueError, OverflowError):
        return np.nan
    if found["sign"]:
        # Three hours before are also "-1 day, 21:00:00".
        days, rest = -days, rest if days and found.re is _PERIOD else -rest
    return (days + rest) / _DAY
