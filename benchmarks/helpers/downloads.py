"""Fetch the originals for users with a network and without the staged files.

Files land in the cache under the names of the staged ones, so the loaders need not know. OpenML
and scikit-learn's own fetchers verify published checksums. LIBSVM publishes none: the checksum of
the first download is kept and later ones must agree with it; shapes are checked in every case.
"""

import hashlib
import json
import urllib.request

import numpy as np
from sklearn.datasets import fetch_20newsgroups, fetch_covtype, fetch_openml, load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.helpers.datasets import STAGED
from benchmarks.helpers.sources import DOWNLOADS, locate, write_npz

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"


def expect(X, rows, columns):
    if X.shape != (rows, columns):
        raise ValueError(f"expected {rows} x {columns}, got {X.shape[0]} x {X.shape[1]}")


def store(name, X, y):
    write_npz(DOWNLOADS / f"{name}.npz", X, y)


def openml(data_id, stem, test, shape, n_train):
    """A set of OpenML whose first rows are the training rows."""
    X, y = fetch_openml(data_id=data_id, as_frame=False, return_X_y=True)
    expect(X, *shape)
    store(f"{stem}_train", X[:n_train].astype(np.float32), y[:n_train])
    store(f"{stem}_{test}", X[n_train:].astype(np.float32), y[n_train:])


def mnist():
    X, y = fetch_openml(data_id=554, as_frame=False, return_X_y=True)
    expect(X, 70_000, 784)
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    store("mnist_train", X[:60_000], y[:60_000])
    store("mnist_test", X[60_000:], y[60_000:])


def news():
    words = CountVectorizer(dtype=np.uint16)
    for part, encode in (("train", words.fit_transform), ("test", words.transform)):
        posts = fetch_20newsgroups(subset=part, remove=("headers", "footers", "quotes"))
        store(f"20news_bydate_stripped_{part}", encode(posts.data), posts.target)


def covtype():
    """Every fourth row, as staged."""
    X, y = fetch_covtype(return_X_y=True)
    expect(X, 581_012, 54)
    store("covtype", X[::4].astype(np.int16), y[::4])


def rcv1():
    """The training file of rcv1.binary, three quarters to train on; the test file has 677,399."""
    X, y = load_svmlight_file(str(libsvm_file("rcv1_train.binary.bz2")), n_features=47_236)
    expect(X, 20_242, 47_236)
    order = np.random.default_rng(0).permutation(X.shape[0])
    store("rcv1_train", X[order[:15_182]], y[order[:15_182]])
    store("rcv1_test", X[order[15_182:]], y[order[15_182:]])


def libsvm_file(name):
    """Download a file of the LIBSVM collection; its checksum is pinned on first use."""
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    path, pins = DOWNLOADS / name, DOWNLOADS / "checksums.json"
    urllib.request.urlretrieve(LIBSVM + name, path)
    known = json.loads(pins.read_text()) if pins.is_file() else {}
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if known.setdefault(name, found) != found:
        path.unlink()
        raise ValueError(f"{name}: checksum differs from that of the first download")
    pins.write_text(json.dumps(known, indent=1))
    return path


# What each fetcher provides, and how to call it.
FETCHERS = {
    "mnist_train.npz": mnist,
    "gisette_train.npz": lambda: openml(41026, "gisette", "valid", (7_000, 5_000), 6_000),
    "dexter_train.npz": lambda: openml(4136, "dexter", "valid", (600, 20_000), 300),
    "arcene_train.npz": lambda: openml(1458, "arcene", "valid", (200, 10_000), 100),
    "madelon_train.npz": lambda: openml(1485, "madelon", "valid", (2_600, 500), 2_000),
    "20news_bydate_stripped_train.npz": news,
    "covtype.npz": covtype,
    "rcv1_train.npz": rcv1,
}


def download_all():
    """Fetch what is missing and can be had; say what failed and what has no source."""
    for file, fetch in FETCHERS.items():
        if locate(file) is None:
            print(f"fetching {file} ...", flush=True)
            try:
                fetch()
            except (OSError, ValueError) as reason:
                print(f"  failed: {reason}")
    for dataset in STAGED:
        if dataset.missing() and not set(dataset.missing()) & set(FETCHERS):
            files = ", ".join(dataset.missing())
            print(f"{dataset.name}: no automatic source; put {files} into FEATGRAD_DATA")
