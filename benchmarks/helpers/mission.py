"""MISSION: feature selection by logistic SGD whose weights live in a count-sketch.

Own implementation after Aghazadeh et al., "MISSION: Ultra Large-Scale Feature Selection using
Count-Sketches" (ICML 2018). Each gradient step is added to a count-sketch; a heap holds the `size`
features of largest estimated weight, and predictions use the heap's features only. Several classes
are handled one against the rest, each with a sketch and a heap of its own.

`unsketched` is the twin with an exact weight per feature: with a sketch large enough to be free of
collisions both follow the same trajectory.
"""

import math

import numba
import numpy as np
import scipy.sparse as sp

DEPTH = 5


@numba.njit(cache=True)
def mixed(number):
    """A well-mixed 64-bit hash (the finaliser of splitmix64)."""
    h = number + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@numba.njit(cache=True)
def middle_of_five(e):
    """Median of five numbers: drop the smallest and the largest pairwise, as in a tournament."""
    a, b, c, d = min(e[0], e[1]), max(e[0], e[1]), min(e[2], e[3]), max(e[2], e[3])
    low, high = max(a, c), min(b, d)
    return max(min(low, high), min(max(low, high), e[4]))


@numba.njit(cache=True)
def sketch_add(table, salt, feature, value):
    """Add `value` to the weight of one feature and return its new estimate (median over rows)."""
    # The width is a power of two, so a mask takes the place of a division.
    mask = np.uint64(table.shape[1] - 1)
    estimates = np.empty(DEPTH)
    for row in range(DEPTH):
        h = mixed(np.uint64(feature) * np.uint64(DEPTH) + np.uint64(row) + np.uint64(salt))
        bucket = (h >> np.uint64(1)) & mask
        sign = 1.0 if h & np.uint64(1) else -1.0
        table[row, bucket] += sign * value
        estimates[row] = sign * table[row, bucket]
    return middle_of_five(estimates)


@numba.njit(cache=True)
def exact_add(table, salt, feature, value):
    """Counterpart of sketch_add for a table with one exact cell per feature."""
    table[0, feature] += value
    return table[0, feature]


@numba.njit(cache=True)
def place(heap, weights, slot, where, feature, weight):
    heap[slot] = feature
    weights[slot] = weight
    where[feature] = slot


@numba.njit(cache=True)
def sift(heap, weights, where, used, slot):
    """Restore the min-heap by absolute weight around `slot`."""
    feature, weight = heap[slot], weights[slot]
    while slot > 0:
        parent = (slot - 1) // 2
        if abs(weights[parent]) <= abs(weight):
            break
        place(heap, weights, slot, where, heap[parent], weights[parent])
        slot = parent
    while True:
        child = 2 * slot + 1
        if child >= used:
            break
        if child + 1 < used and abs(weights[child + 1]) < abs(weights[child]):
            child += 1
        if abs(weights[child]) >= abs(weight):
            break
        place(heap, weights, slot, where, heap[child], weights[child])
        slot = child
    place(heap, weights, slot, where, feature, weight)


@numba.njit(cache=True)
def offer(heap, weights, where, used, feature, weight):
    """Update the heap with a feature's new weight; returns the number of slots in use."""
    slot = where[feature]
    if slot >= 0:
        weights[slot] = weight
    elif used < heap.size:
        slot = used
        used += 1
        place(heap, weights, slot, where, feature, weight)
    elif abs(weight) > abs(weights[0]):
        where[heap[0]] = -1
        slot = 0
        place(heap, weights, slot, where, feature, weight)
    else:
        return used
    sift(heap, weights, where, used, slot)
    return used


def make_descent(add):
    """Compile the SGD loop for one kind of weight table."""

    @numba.njit
    def descend(data, indices, indptr, target, order, rate, table, salt, size, where):
        heap = np.empty(size, np.int64)
        weights = np.empty(size)
        used = 0
        bias = 0.0
        for step in range(order.size):
            n = order[step]
            margin = bias
            for p in range(indptr[n], indptr[n + 1]):
                slot = where[indices[p]]
                if slot >= 0:
                    margin += weights[slot] * data[p]
            error = target[n] - 1.0 / (1.0 + math.exp(-margin))
            move = rate * error / math.sqrt(1.0 + step / target.size)
            bias += move
            for p in range(indptr[n], indptr[n + 1]):
                weight = add(table, salt, indices[p], move * data[p])
                used = offer(heap, weights, where, used, indices[p], weight)
        return heap[:used], weights[:used]

    return descend


descend_sketched = make_descent(sketch_add)
descend_exact = make_descent(exact_add)


def run(descend, table, X, target, size, *, rate, epochs, seed):
    """Features of the heap and their weights after `epochs` shuffled passes."""
    X = sp.csr_matrix(X)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(X.shape[0]) for _ in range(epochs)])
    where = np.full(X.shape[1], -1, np.int64)
    data, target = X.data.astype(np.float64), target.astype(np.float64)
    salt = rng.integers(2**62)
    return descend(data, X.indices, X.indptr, target, order, rate, table, salt, size, where)


def sketched(X, target, size, *, width, rate, epochs, seed):
    """MISSION for one binary target; `width` is rounded up to a power of two."""
    table = np.zeros((DEPTH, 1 << (width - 1).bit_length()))
    return run(descend_sketched, table, X, target, size, rate=rate, epochs=epochs, seed=seed)


def unsketched(X, target, size, *, rate, epochs, seed):
    """The same descent with exact weights."""
    table = np.zeros((1, X.shape[1]))
    return run(descend_exact, table, X, target, size, rate=rate, epochs=epochs, seed=seed)


def class_weights(X, y, size, **settings):
    """Weights per class (one row for two classes) and feature, zero outside the heaps."""
    classes = np.unique(y)
    targets = classes[1:] if classes.size == 2 else classes
    weights = np.zeros((targets.size, X.shape[1]))
    for row, target in zip(weights, targets, strict=True):
        kept, values = sketched(X, y == target, size, **settings)
        row[kept] = values
    return weights
