"""Streams with changes that are known, and real ones in their own order."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.helpers.builders import log_counts
from benchmarks.helpers.sources import locate, read_npz, read_texts

ROWS = 20_000
COLUMNS = 1_000
ACTIVE = 20


class Stream(NamedTuple):
    """Rows in their order; `truth[i]` are the columns that matter in the rows from `starts[i]`."""

    X: object
    y: np.ndarray
    sizes: tuple
    starts: tuple = ()
    truth: tuple = ()

    def active(self, row):
        """Columns that matter in a row; None where nobody knows."""
        if not self.truth:
            return None
        return self.truth[np.searchsorted(self.starts, row, side="right") - 1]

    def first_half(self):
        half = len(self.y) // 2
        return self._replace(X=self.X[:half], y=self.y[:half])


def two_sets(seed, share_of_second, starts, order):
    """A row follows one of two sets of columns, the second with a probability; SNR 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    sets = rng.permutation(COLUMNS)[: 2 * ACTIVE].reshape(2, ACTIVE)
    signs = rng.choice([-1, 1], ACTIVE) / np.sqrt(ACTIVE)
    second = rng.random(ROWS) < share_of_second
    signal = np.where(second, X[:, sets[1]] @ signs, X[:, sets[0]] @ signs)
    y = (signal + rng.standard_normal(ROWS) > 0).astype(int)
    return Stream(X, y, (ACTIVE,), starts, tuple(np.sort(sets[i]) for i in order))


def abrupt(seed):
    half = ROWS // 2
    return two_sets(seed, np.arange(ROWS) >= half, (0, half), (0, 1))


def gradual(seed):
    """The second set takes over between 40 % and 70 % of the rows."""
    share = np.clip((np.arange(ROWS) / ROWS - 0.4) / 0.3, 0, 1)
    return two_sets(seed, share, (0, int(0.55 * ROWS)), (0, 1))


def recurring(seed):
    quarter = ROWS // 4
    share = (np.arange(ROWS) // quarter) % 2
    return two_sets(seed, share, tuple(quarter * np.arange(4)), (0, 1, 0, 1))


def hyperplane(seed):
    """Weights of 20 of 200 columns turn; every 5,000 rows five of the columns are replaced."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, 200)).astype(np.float32)
    order, weights = rng.permutation(200), rng.standard_normal(ACTIVE)
    signal, starts, truth = np.empty(ROWS), [], []
    for part in range(4):
        columns = order[5 * part : 5 * part + ACTIVE]
        starts.append(part * ROWS // 4)
        truth.append(np.sort(columns))
        for start in range(starts[-1], starts[-1] + ROWS // 4, 100):
            weights = weights + 0.05 * rng.standard_normal(ACTIVE)
            unit = weights / np.linalg.norm(weights)
            signal[start : start + 100] = X[start : start + 100][:, columns] @ unit
    y = (signal + 0.5 * rng.standard_normal(ROWS) > 0).astype(int)
    return Stream(X, y, (ACTIVE,), tuple(starts), tuple(truth))


def sea(seed):
    """Street & Kim: the sum of two columns against a threshold that changes; 10 % labels flipped.

    The two columns are others after every change, among 500.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (ROWS, 500)).astype(np.float32)
    pairs, y = rng.permutation(500)[:8].reshape(4, 2), np.empty(ROWS, int)
    for part, limit in enumerate((8, 9, 7, 9.5)):
        rows = slice(part * ROWS // 4, (part + 1) * ROWS // 4)
        y[rows] = X[rows][:, pairs[part]].sum(axis=1) <= limit
    flipped = rng.random(ROWS) < 0.1
    starts = tuple(part * ROWS // 4 for part in range(4))
    truth = tuple(np.sort(pair) for pair in pairs)
    return Stream(X, np.where(flipped, 1 - y, y), (2,), starts, truth)


SEGMENTS = np.array(
    [[1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1],
     [0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0],
     [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1]]
)  # fmt: skip


def led(seed):
    """Seven segments of a digit, 10 % inverted, among 500 columns; half way they move.

    The class is whether the digit is above 4.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (ROWS, 500)).astype(np.float32)
    digits, half = rng.integers(0, 10, ROWS), ROWS // 2
    segments = SEGMENTS[digits] ^ (rng.random((ROWS, 7)) < 0.1)
    places = rng.permutation(500)[:14].reshape(2, 7)
    X[:half, places[0]], X[half:, places[1]] = segments[:half], segments[half:]
    truth = tuple(np.sort(own) for own in places)
    return Stream(X, (digits > 4).astype(int), (7,), (0, half), truth)


def real(name, sizes, positive):
    """A set of the shared folder in its order."""

    def build(seed):
        X, y = read_npz(locate(f"{name}.npz"))
        X = sp.csr_array(X.astype(np.float64)) if sp.issparse(X) else X.astype(np.float32)
        return Stream(X, (y == positive).astype(int), sizes)

    return build


def imdb(seed):
    """Word counts of reviews in the order of their file; positive from a rating of 7 on."""
    ratings, documents = read_texts("imdb_train_raw")
    X = log_counts(CountVectorizer(min_df=5, dtype=np.float64).fit_transform(documents))
    return Stream(sp.csr_array(X), (ratings.astype(int) >= 7).astype(int), (10, 50, 200))


GENERATED = {
    "abrupt": abrupt,
    "gradual": gradual,
    "recurring": recurring,
    "hyperplane": hyperplane,
    "SEA": sea,
    "LED": led,
}
REAL = {
    "spam_stream": real("spam_stream", (10, 50, 200), 1),
    "noaa_weather": real("noaa_weather", (2, 4, 6), 1),
    "covtype": real("covtype", (10, 50), 2),
    "imdb": imdb,
}
