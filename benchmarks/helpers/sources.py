"""Read the staged data files: where they are, and how each file format is decoded."""

import lzma
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "benchmarks" / ".cache"
DOWNLOADS = CACHE / "downloads"


def data_folder():
    """Folder of the staged data sets: FEATGRAD_DATA, or shared/data beside the repository."""
    return Path(os.environ.get("FEATGRAD_DATA", ROOT.parent / "shared" / "data"))


def locate(file):
    """Path of a staged or downloaded file; None when it is in neither folder."""
    for folder in (data_folder(), DOWNLOADS):
        if (folder / file).is_file():
            return folder / file
    return None


def read_npz(path):
    """X (dense array or CSR) and y of one file; CSR pieces are recognised by their names."""
    with np.load(path) as pieces:
        if "indptr" in pieces:
            parts = (pieces["data"], pieces["indices"], pieces["indptr"])
            X = sp.csr_matrix(parts, shape=tuple(pieces["shape"]))
        else:
            X = pieces["X"]
        return X, pieces["y"]


def read_staged(name):
    """X as float and y of one staged file, in the smallest float type that holds it exactly."""
    X, y = read_npz(locate(f"{name}.npz"))
    return X.astype(np.float64 if X.dtype == np.float64 else np.float32), y


def read_member(name, member):
    """One extra array of a staged file, such as a given row split."""
    with np.load(locate(f"{name}.npz")) as pieces:
        return pieces[member]


def read_texts(name):
    """Labels (text before the first tab) and documents of a raw text file."""
    with lzma.open(locate(f"{name}.tsv.xz"), "rt", encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    labels, documents = zip(*rows, strict=True)
    return np.array(labels), documents


def write_npz(path, X, y):
    """Counterpart of read_npz; uncompressed because it is a cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if sp.issparse(X):
        X = X.tocsr()
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    else:
        arrays = {"X": X}
    # np.savez appends ".npz" to other suffixes; the rename keeps a half-written file invisible.
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, y=y, **arrays)
    partial.replace(path)
