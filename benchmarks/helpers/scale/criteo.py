"""Text shaped like Criteo's click logs: a label, 13 counts, 26 tokens, tab-separated, with gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from benchmarks.helpers.scale import draws

NUMBERS = [f"I{k}" for k in range(1, 14)]
TOKENS = [f"C{k}" for k in range(1, 27)]
COLUMNS = ["label", *NUMBERS, *TOKENS]
# Different tokens per column, as in the public set.
N_VALUES = np.array([
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194,
    27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572,
])  # fmt: skip
# How often a field is empty.
_GAPS = np.array([
    0.45, 0, 0.2, 0.2, 0.03, 0.2, 0.05, 0, 0.05, 0.45, 0.05, 0.75, 0.2,
    0, 0, 0.03, 0.03, 0, 0.1, 0, 0, 0, 0, 0, 0.03, 0,
    0, 0, 0.03, 0, 0, 0.4, 0.4, 0.03, 0.75, 0, 0.03, 0.4, 0.4,
])  # fmt: skip
_LONGEST_ROW = 400
_EXPLAINED = 0.5
_RAREST, _COMMONEST = 0.002, 0.4
# The most popular ranks of a column, among which tokens are planted.
_HEAD = 1000


def write(path: Path, n_rows: int, n_planted: int = 200, seed: int = 0) -> list[dict[str, str]]:
    """Write the text; returns the planted tokens with their columns."""
    weights, centre, planted = _plant(n_planted, seed)
    at_once = 20_000
    text = np.empty(at_once * _LONGEST_ROW, np.uint8)
    with path.open("wb") as file:
        for first in range(0, n_rows, at_once):
            rows = min(at_once, n_rows - first)
            size = _fill(seed, first, rows, N_VALUES, _GAPS, weights, centre, text)
            file.write(text[:size])
    return planted


def _plant(n_planted: int, seed: int) -> tuple[np.ndarray, float, list[dict[str, str]]]:
    """Weights (column, rank) of tokens, and which they are."""
    rng = np.random.default_rng(seed)
    held = np.zeros((len(TOKENS), _HEAD))
    for column, n_values in enumerate(N_VALUES):
        ranks = np.arange(min(_HEAD, n_values))
        shares = draws.held(ranks, n_values, np.ones(1))
        held[column, : len(ranks)] = shares * (1 - _GAPS[13 + column])
    able = np.flatnonzero((held.ravel() > _RAREST) & (held.ravel() < _COMMONEST))
    chosen = rng.choice(able, n_planted, replace=False)
    weights = np.zeros(held.size)
    share = held.ravel()[chosen]
    weights[chosen] = rng.choice([-1.0, 1.0], n_planted) * np.sqrt(
        _EXPLAINED / n_planted / (share * (1 - share))
    )
    planted = [
        {"column": TOKENS[c], "token": f"{_token(c, r):08x}"}
        for c, r in zip(*np.divmod(chosen, _HEAD), strict=True)
    ]
    return weights.reshape(held.shape), float(weights[chosen] @ share), planted


@njit(cache=True, nogil=True)
def _token(column, rank):
    return draws.mixed(np.uint64(column) << np.uint64(32) | np.uint64(rank)) >> np.uint64(32)


@njit(cache=True, nogil=True)
def _put_number(text, i, number):
    digits = 1
    while number >= 10**digits:
        digits += 1
    for k in range(digits):
        text[i + digits - 1 - k] = 48 + number % 10
        number //= 10
    return i + digits


@njit(cache=True, nogil=True)
def _put_token(text, i, token):
    for k in range(8):
        nibble = int(token >> np.uint64(4 * (7 - k))) & 15
        text[i + k] = 48 + nibble if nibble < 10 else 87 + nibble
    return i + 8


@njit(cache=True, nogil=True)
def _fill(seed, first, n_rows, n_values, gaps, weights, centre, text):
    """Write rows as text; returns its length."""
    low, _ = draws.law(0)
    highs = np.array([draws.law(n)[1] for n in n_values])
    i = 0
    for row in range(first, first + n_rows):
        state = draws.start(seed, row)
        u, state = draws.uniform(state)
        topic = int(u * draws.N_TOPICS)
        label_at, score = i, -centre
        i += 1
        for column in range(len(gaps)):
            text[i] = 9
            i += 1
            u, state = draws.uniform(state)
            v, state = draws.uniform(state)
            if u < gaps[column]:
                continue
            if column < 13:
                i = _put_number(text, i, int(np.exp(v * (2 + column % 7))) - 1)
                continue
            c = column - 13
            item = draws.rank(v, low, highs[c], n_values[c])
            u, state = draws.uniform(state)
            if u < draws.TOPICAL:
                item = draws.in_topic(item, topic, n_values[c])
            if item < weights.shape[1]:
                score += weights[c, item]
            i = _put_token(text, i, _token(c, item))
        noise, state = draws.normal(state)
        # A quarter of the rows are clicks.
        text[label_at] = 49 if score + np.sqrt(1 - _EXPLAINED) * noise > 0.6745 else 48
        text[i] = 10
        i += 1
    return i
