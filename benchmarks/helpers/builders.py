"""Build the benchmark sets that are derived from staged files.

A builder returns (X_train, y_train, X_test, y_test), or all rows of a set without a given split.
Statistics come from training rows only.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.helpers.sources import read_member, read_staged, read_texts

# The draw behind the reference figures (ANOVA F 0.9368); others move every method by about 0.003.
NOISE_SEED = 0
GISETTE_SEED = 49
PIXEL_NOISE = 0.5


def log_counts(X):
    """log(1 + count): tames heavy-tailed counts without any statistic of the data."""
    X = X.copy()
    X.data = np.log1p(X.data)
    return X


def rows_of(X, y, classes):
    """Rows of the given classes."""
    keep = np.isin(y, classes)
    return X[keep], y[keep]


def common_columns(X_train, X_test, min_rows):
    """Drop columns that fewer than `min_rows` training rows use."""
    keep = np.flatnonzero(X_train.getnnz(axis=0) >= min_rows)
    return X_train[:, keep], X_test[:, keep]


def mnist35_noisy():
    """3 against 5 with Gaussian noise of standard deviation 0.5 on pixels in [0, 1]."""
    rng = np.random.default_rng(NOISE_SEED)
    parts = []
    for name in ("mnist_train", "mnist_test"):
        X, y = rows_of(*read_staged(name), (3, 5))
        noisy = X / 255 + PIXEL_NOISE * rng.standard_normal(X.shape)
        parts += [noisy.astype(np.float32), y]
    return tuple(parts)


def mnist_ten():
    """All ten digits, the first 10,000 training rows."""
    X_train, y_train = read_staged("mnist_train")
    X_test, y_test = read_staged("mnist_test")
    return X_train[:10_000] / 255, y_train[:10_000], X_test / 255, y_test


def gisette_like():
    """A look-alike of Gisette after its published description; NOT the original.

    Digits 4 and 9; 2,500 real features (pixels of the middle-top part of the image and products of
    random pairs of them) and 2,500 probes (such features with their rows shuffled, hence without
    any relation to the target); quantised to 0..999; columns in random order; balanced classes.
    """
    rng = np.random.default_rng(GISETTE_SEED)
    pixels = np.array([28 * r + c for r in range(4, 17) for c in range(5, 23)])
    pairs = random_pairs(rng, pixels, 2_500 - pixels.size)
    probe_source = rng.permutation(2_500)
    order = rng.permutation(5_000)
    parts = []
    for name, per_class in (("mnist_train", 3_000), ("mnist_test", 500)):
        X, y = balanced(*rows_of(*read_staged(name), (4, 9)), per_class, rng)
        X = X / 255
        real = np.hstack([X[:, pixels], X[:, pairs[:, 0]] * X[:, pairs[:, 1]]])
        probes = rng.permuted(real[:, probe_source], axis=0)
        columns = np.hstack([real, probes])[:, order]
        parts += [np.rint(999 * columns).astype(np.float32), y]
    return tuple(parts)


def random_pairs(rng, items, size):
    """Distinct unordered pairs of distinct items."""
    first, second = np.triu_indices(items.size, 1)
    chosen = rng.choice(first.size, size=size, replace=False)
    return np.column_stack([items[first[chosen]], items[second[chosen]]])


def balanced(X, y, per_class, rng):
    """The same number of random rows of each class, in random order."""
    rows = [rng.permutation(np.flatnonzero(y == c))[:per_class] for c in np.unique(y)]
    rows = rng.permutation(np.concatenate(rows))
    return X[rows], y[rows]


def imdb_unigrams():
    """Word counts of the reviews; positive means a rating of 7 or more."""
    words = CountVectorizer(min_df=5, dtype=np.float32)
    ratings, documents = read_texts("imdb_train_raw")
    X_train, y_train = words.fit_transform(documents), ratings.astype(int) >= 7
    ratings, documents = read_texts("imdb_test_raw")
    X_test, y_test = words.transform(documents), ratings.astype(int) >= 7
    return log_counts(X_train), y_train, log_counts(X_test), y_test


def given_split(stem, test="valid"):
    """A set staged as two files, values as they are."""
    return (*read_staged(f"{stem}_train"), *read_staged(f"{stem}_{test}"))


def news20(classes=tuple(range(20)), min_rows=3):
    """20 Newsgroups, or a few of its classes, with the given split by date."""
    X_train, y_train = rows_of(*read_staged("20news_bydate_stripped_train"), classes)
    X_test, y_test = rows_of(*read_staged("20news_bydate_stripped_test"), classes)
    X_train, X_test = common_columns(X_train, X_test, min_rows)
    return log_counts(X_train), y_train, log_counts(X_test), y_test


def reuters():
    """Reuters-21578 with its given split, classes with at least 20 training documents."""
    X, y = read_staged("reuters21578")
    train, test = read_member("reuters21578", "train_idx"), read_member("reuters21578", "test_idx")
    labels, counts = np.unique(y[train], return_counts=True)
    # One-vs-rest AUC needs a class on both sides of the split, and a class of a few documents
    # says more about the split than about the features.
    usable = np.intersect1d(labels[counts >= 20], y[test])
    X_train, y_train = rows_of(X[train], y[train], usable)
    X_test, y_test = rows_of(X[test], y[test], usable)
    X_train, X_test = common_columns(X_train, X_test, 2)
    return log_counts(X_train), y_train, log_counts(X_test), y_test


def one_against_rest(build, place):
    """Two classes: the one at this place by training rows, the largest at 0, and all others."""
    X_train, y_train, X_test, y_test = build()
    labels, counts = np.unique(y_train, return_counts=True)
    rare = labels[np.argsort(-counts, kind="stable")[place]]
    return X_train, (y_train == rare).astype(int), X_test, (y_test == rare).astype(int)


def whole(stem, min_class=0):
    """A set staged as one file without a given split: (X, y), rare classes dropped."""
    X, y = read_staged(stem)
    labels, counts = np.unique(y, return_counts=True)
    X, y = rows_of(X, y, labels[counts >= min_class])
    return (log_counts(X) if sp.issparse(X) else X), y


def grants():
    """University grants: those of 2008 that are left for test, all earlier ones for training."""
    X, y = read_staged("grants")
    members = [read_member("grants", f"{name}_idx") for name in ("train", "valid", "test")]
    train, test = np.concatenate(members[:2]), members[2]
    return X[train], y[train], X[test], y[test]


def bibtex_label():
    """Words of bookmarks, and whether they have the second of 159 tags by number: (X, y).

    A single word tells the first without an error.
    """
    X, labels = read_staged("bibtex")
    return X, labels[:, np.argsort(-labels.sum(axis=0), kind="stable")[1]].astype(int)


def pixels(stem):
    """Images staged as one file: (X, y), grey levels in [0, 1]."""
    X, y = read_staged(stem)
    return X / 255, y


def odd_pixels(stem):
    """Images of odd objects against those of even ones: (X, y)."""
    X, y = pixels(stem)
    return X, y % 2


def mice_protein():
    """Protein levels with missing values: (X, y, mouse of each row)."""
    return (*read_staged("mice_protein"), read_member("mice_protein", "mouse"))
