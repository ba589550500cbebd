"""Slow, plain readers of text, to hold the fast ones against.

Each returns the rows as (label, {feature: value}) and the numbers of the lines it cannot use.
"""

from __future__ import annotations

import math
import re

import numpy as np

from featgrad.readers.tokens import NA_TEXTS, NA_WORDS

_NUMBER = re.compile(rb"[+-]?(((\d+\.?\d*|\.\d+)(e[+-]?\d+)?)|nan|inf(inity)?)", re.IGNORECASE)
_GROUPED = re.compile(
    rb"[1-9]\d{0,2}([,' ])\d{3}(\1\d{3})*(\.\d*)?|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE
)
_LARGEST = float(np.finfo(np.float32).max)


class BadLineError(Exception):
    """A line that cannot be used."""


def number(text: bytes) -> float:
    """A finite number."""
    if not _NUMBER.fullmatch(text):
        raise BadLineError(text)
    value = float(text)
    if not math.isfinite(value):
        raise BadLineError(text)
    return value


def value(text: bytes) -> float:
    """A number that single precision holds."""
    found = number(text)
    if abs(found) > _LARGEST:
        raise BadLineError(text)
    return found


def plain(field: bytes) -> bytes:
    """A number without signs as in <5 or groups of thousands; nothing for words of missing ones."""
    field = field.strip(b" \t")
    if field in [word.encode() for word in NA_WORDS]:
        return b""
    field = re.sub(rb"^([<>~]=?|') *(?=.)", b"", field)
    brackets = len(field) > 2 and field[:1] == b"(" and field[-1:] == b")"
    inner = (field[1:-1] if brackets else field).rstrip(b" $")
    before = re.match(rb"[ $+-]*", inner)[0]
    signs, body = before.translate(None, b" $"), inner[len(before) :]
    if len(signs) + brackets > 1 or not _GROUPED.fullmatch(body):
        return field
    return (b"-" if brackets else signs) + re.sub(rb"[,' ]", b"", body)


def words(text: bytes) -> list[bytes]:
    return [word for word in re.split(rb"[ \t\r]+", text) if word]


def read_lines(content: bytes, parse) -> tuple[list, list[int]]:
    rows, bad = [], []
    for line_number, line in enumerate(content.split(b"\n"), start=1):
        try:
            row = parse(line)
        except BadLineError:
            bad.append(line_number)
        else:
            rows += [] if row is None else [row]
    return rows, bad


def svmlight(content: bytes, n_features: int) -> tuple[list, list[int]]:
    def parse(line: bytes):
        fields = words(line.split(b"#")[0])
        if not fields:
            return None
        entries: dict[int, float] = {}
        for field in fields[1:]:
            if field.startswith(b"qid"):
                if entries or not re.fullmatch(rb"qid:\d+", field):
                    raise BadLineError(field)
                continue
            index, colon, text = field.partition(b":")
            if not (colon and re.fullmatch(rb"\d+", index) and 1 <= int(index) <= n_features):
                raise BadLineError(field)
            if int(index) - 1 <= max(entries, default=-1):
                raise BadLineError(field)
            entries[int(index) - 1] = value(text)
        return number(fields[0]), entries

    return read_lines(content, parse)


def text(word: bytes) -> bytes:
    try:
        word.decode()
    except UnicodeDecodeError:
        raise BadLineError(word) from None
    return word


def fingerprint(token: bytes) -> int:
    """FNV-1a of 64 bits, its halves mixed."""
    code = 0xCBF29CE484222325
    for byte in token:
        code = (code ^ byte) * 0x100000001B3 % 2**64
    return code ^ code >> 32


def table(content: bytes, n_numbers: int, hash_dim: int) -> tuple[list, list[int]]:
    """Tab-separated: label, numbers, then one column of text; without quotes."""

    def parse(line: bytes):
        line = line.removesuffix(b"\r")
        if not line:
            return None
        fields = line.split(b"\t")
        if len(fields) != n_numbers + 2:
            raise BadLineError(line)
        label = number(plain(fields[0]))
        entries = {k: value(plain(field)) for k, field in enumerate(fields[1:-1])}
        if text(fields[-1]) and fields[-1].strip(b" \t").decode() not in ("", *NA_TEXTS):
            entries[n_numbers + fingerprint(fields[-1]) % hash_dim] = 1.0
        return label, entries

    return read_lines(content, parse)
