"""The benchmark sets: one registry, and train/test splits of each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import sklearn.datasets

from benchmarks.helpers import builders, regression_sets
from benchmarks.helpers.sources import CACHE, locate, read_npz, write_npz
from benchmarks.helpers.splitting import finished, random_rows

SPLIT_SEED = 2019


@dataclass(frozen=True)
class DataSet:
    """How to get one set.

    `build` returns (X_train, y_train, X_test, y_test) when `n_splits` is 0 (a given split),
    otherwise (X, y) or (X, y, groups), which is split at random, stratified by class, with the
    rows of a group on one side. Missing values are filled by means of training rows. A simulated
    set is drawn anew for every split: its `build` takes the index as the seed.
    """

    name: str
    kind: str
    build: Callable
    files: tuple = ()
    n_splits: int = 0
    train_size: float | int = 2 / 3
    test_size: float | int = 1 / 3
    cached: bool = False
    simulated: bool = False

    def missing(self):
        """Files that are needed and not there."""
        return [file for file in self.files if locate(file) is None]

    def splits(self):
        """Yield (index, Split)."""
        for index, parts in enumerate(self.parts()):
            yield index, finished(self.kind, *parts)

    def parts(self):
        """Yield training and test rows of each split as they are built, with training groups."""
        if self.n_splits == 0:
            yield cached_parts(self) if self.cached else self.build()
            return
        if self.simulated:
            yield from map(self.build, range(self.n_splits))
            return
        X, y, *groups = self.build()
        sizes = {"train_size": self.train_size, "test_size": self.test_size}
        for train, test in random_rows(
            y, self.kind, *groups, n_splits=self.n_splits, random_state=SPLIT_SEED, **sizes
        ):
            yield X[train], y[train], X[test], y[test], *[labels[train] for labels in groups]


def cached_parts(dataset):
    """Parts of a set that is slow to build, kept on disk after the first time."""
    paths = [CACHE / f"{dataset.name}_{part}.npz" for part in ("train", "test")]
    if not all(path.is_file() for path in paths):
        X_train, y_train, X_test, y_test = dataset.build()
        write_npz(paths[0], X_train, y_train)
        write_npz(paths[1], X_test, y_test)
    return (*read_npz(paths[0]), *read_npz(paths[1]))


def two_files(stem, test="valid"):
    """A set staged as one file of training and one of test rows."""
    files = (f"{stem}_train.npz", f"{stem}_{test}.npz")
    return DataSet(stem, "binary", partial(builders.given_split, stem, test=test), files)


def one_file(stem, kind, n_splits, min_class=0, **sizes):
    """A set staged as one file, split at random."""
    build = partial(builders.whole, stem, min_class)
    return DataSet(stem, kind, build, (f"{stem}.npz",), n_splits, **sizes)


def images(stem, n_splits=5):
    """Grey levels of images, staged as one file, split at random."""
    return DataSet(stem, "multiclass", partial(builders.pixels, stem), (f"{stem}.npz",), n_splits)


def odd_images(name, stem, n_splits=3):
    """Two classes of many objects each, without noise."""
    return DataSet(name, "binary", partial(builders.odd_pixels, stem), (f"{stem}.npz",), n_splits)


def news_pair(name, first, second):
    """Two classes of 20 Newsgroups."""
    return DataSet(name, "binary", partial(builders.news20, (first, second), 2), NEWS)


def simulated(build):
    """A regression set without files."""
    return DataSet(build.__name__, "regression", build, n_splits=5, simulated=True)


def bundled(name, kind):
    """One of scikit-learn's own sets."""
    load = getattr(sklearn.datasets, f"load_{name}")
    return DataSet(name, kind, partial(load, return_X_y=True), n_splits=5)


def rare_class(name, build, place, files):
    """One class of a set against all others."""
    return DataSet(name, "binary", partial(builders.one_against_rest, build, place), files)


def one_of_several(stem, target=None):
    """One target of a set that has several."""
    build = partial(regression_sets.one_target, stem, target)
    return DataSet(stem, "regression", build, (f"{stem}.npz",), n_splits=5)


MNIST = ("mnist_train.npz", "mnist_test.npz")
NEWS = ("20news_bydate_stripped_train.npz", "20news_bydate_stripped_test.npz")
# Place of the target that papers on these spectra predict.
FAT = 1
IMDB = ("imdb_train_raw.tsv.xz", "imdb_test_raw.tsv.xz")

STAGED = [
    DataSet("mnist35_noisy", "binary", builders.mnist35_noisy, MNIST),
    DataSet("gisette_like", "binary", builders.gisette_like, MNIST, cached=True),
    two_files("dexter"),
    two_files("arcene"),
    two_files("madelon"),
    one_file("basehock", "binary", 3),
    one_file("pcmac", "binary", 3),
    one_file("allaml", "binary", 5),
    one_file("colon", "binary", 5),
    DataSet(
        "rcv1_sample",
        "binary",
        partial(builders.given_split, "rcv1_vw_sample", test="test"),
        ("rcv1_vw_sample_train.npz", "rcv1_vw_sample_test.npz"),
    ),
    DataSet("imdb_unigrams", "binary", builders.imdb_unigrams, IMDB, cached=True),
    news_pair("news_atheism_religion", 0, 19),
    news_pair("news_graphics_windows", 1, 5),
    news_pair("news_crypt_electronics", 11, 12),
    rare_class("reuters_rare", builders.reuters, 5, ("reuters21578.npz",)),
    rare_class("news_rare", builders.news20, 10, NEWS),
    odd_images("coil_odd", "coil20"),
    odd_images("warppie_odd", "warppie10p"),
    one_file("tox171", "multiclass", 5),
    # Three of its nine classes have four rows or fewer: too few for a split and an AUC.
    one_file("lymphoma", "multiclass", 5, min_class=6),
    DataSet("news20", "multiclass", builders.news20, NEWS),
    DataSet("mnist", "multiclass", builders.mnist_ten, MNIST),
    one_file("covtype", "multiclass", 2, train_size=20_000, test_size=40_000),
    DataSet("reuters", "multiclass", builders.reuters, ("reuters21578.npz",)),
    DataSet("mice_protein", "multiclass", builders.mice_protein, ("mice_protein.npz",), 5),
    images("coil20"),
    images("warppie10p"),
    images("pixraw10p"),
    one_file("mdrr", "binary", 5),
    one_file("review_polarity", "binary", 3),
    DataSet("grants", "binary", builders.grants, ("grants.npz",)),
    DataSet("bibtex_label", "binary", builders.bibtex_label, ("bibtex.npz",), 3),
    one_file("semeion", "multiclass", 5),
]

REGRESSION = [
    DataSet("diabetes_products", "regression", regression_sets.diabetes_products, n_splits=5),
    simulated(regression_sets.friedman1),
    simulated(regression_sets.autoregressive),
    simulated(regression_sets.skewed),
    simulated(regression_sets.heavy_tails),
    simulated(regression_sets.outliers),
    DataSet(
        "covtype_elevation",
        "regression",
        regression_sets.covtype_elevation,
        ("covtype.npz",),
        n_splits=2,
        train_size=5_000,
        test_size=20_000,
    ),
    DataSet("mnist_pixel", "regression", regression_sets.mnist_pixel, MNIST),
    one_of_several("hiv_pi"),
    one_of_several("hiv_nrti"),
    one_of_several("tecator", FAT),
    one_file("riboflavin", "regression", 5),
    one_file("blood_brain", "regression", 5),
    one_file("permeability", "regression", 5),
    one_file("puma32h", "regression", 2),
    DataSet(
        "chicago_ridership",
        "regression",
        regression_sets.chicago_ridership,
        ("chicago_ridership.npz",),
    ),
]

# For users who have or download the originals; gisette_like and rcv1_sample stand in for them.
ORIGINALS = [two_files("gisette"), two_files("rcv1", test="test")]

BUNDLED = [
    bundled("breast_cancer", "binary"),
    bundled("digits", "multiclass"),
    bundled("wine", "multiclass"),
    bundled("iris", "multiclass"),
]

REGISTRY = {dataset.name: dataset for dataset in STAGED + ORIGINALS + BUNDLED + REGRESSION}


def default_sets():
    """Sets that can be loaded here; scikit-learn's own where no set of classes is staged."""
    there = [dataset for dataset in STAGED + ORIGINALS if not dataset.missing()]
    return (there or BUNDLED) + [dataset for dataset in REGRESSION if not dataset.missing()]


def report_missing():
    """One line per set that cannot be loaded, saying what it needs."""
    return [
        f"{dataset.name}: missing {', '.join(dataset.missing())}"
        for dataset in STAGED + ORIGINALS + REGRESSION
        if dataset.missing()
    ]
