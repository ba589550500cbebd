"""Random numbers that depend on a seed and a row only, and ranks of power-law popularity.

A row can so be drawn again, alone and in any order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Popularity of rank r is (FLAT + r)^-STEEP: a flat head, then a power law.
FLAT, STEEP = 10.0, 1.1
# Items of one topic come together: this share of a row's draws is moved to its topic's items.
N_TOPICS, TOPICAL = 50, 0.3


@njit(cache=True, nogil=True)
def start(seed, row):
    """The state of a row's random numbers."""
    return mixed(np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + mixed(np.uint64(row)))


@njit(cache=True, nogil=True)
def mixed(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def uniform(state):
    """A number in (0, 1) and the next state."""
    state += np.uint64(0x9E3779B97F4A7C15)
    return (np.float64(mixed(state) >> np.uint64(11)) + 0.5) / 2.0**53, state


@njit(cache=True, nogil=True)
def normal(state):
    u, state = uniform(state)
    v, state = uniform(state)
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v), state


@njit(cache=True, nogil=True)
def law(n_items):
    """The power law's integral at its ends, for `rank`."""
    return FLAT ** (1 - STEEP), (FLAT + n_items) ** (1 - STEEP)


@njit(cache=True, nogil=True)
def rank(u, low, high, n_items):
    """The rank below `n_items` at quantile u, by the inverse of the power law's integral."""
    return min(int((low + u * (high - low)) ** (1 / (1 - STEEP)) - FLAT), n_items - 1)


@njit(cache=True, nogil=True)
def in_topic(item, topic, n_items):
    """The item of this topic nearest below in popularity."""
    moved = item - item % N_TOPICS + topic
    return moved if moved < n_items else item


def held(ranks: np.ndarray, n_items: int, n_draws: np.ndarray) -> np.ndarray:
    """Share of rows that hold each rank, if a row takes one of these numbers of draws."""
    low, high = law(n_items)

    def below(r):
        return (low - (FLAT + r) ** (1 - STEEP)) / (low - high)

    ranks = np.asarray(ranks, dtype=np.float64)
    own = below(ranks + 1) - below(ranks)
    first = ranks - ranks % N_TOPICS
    whole = first + N_TOPICS <= n_items
    group = below(np.minimum(first + N_TOPICS, n_items)) - below(first)
    elsewhere = np.where(whole, (1 - TOPICAL) * own, own)[:, None]
    in_own_topic = elsewhere + np.where(whole, TOPICAL * group, 0)[:, None]
    shares = [1 - (1 - chance) ** n_draws for chance in (in_own_topic, elsewhere)]
    return (shares[0] / N_TOPICS + shares[1] * (1 - 1 / N_TOPICS)).mean(axis=1)
