"""Damage files of every kind at random and see that each is read rightly, skipped or refused.

    python -m benchmarks.scale.mutations [--files 1000] [--seed 0]

A damaged file must give a ValueError that names it, or rows. Rows of text must be those of a slow
plain reader, with as many skipped, and an error must name a line where that reader stumbles;
rows of other files must be finite, of the right shape and with indices in range. All this holds
where nothing may be missing; by default a file has at least these rows, some values missing.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy import sparse

from benchmarks.helpers.record import Figure, record
from benchmarks.helpers.scale import references
from featgrad.readers import convert, open_source

_N_ROWS, _N_FEATURES = 40, 30
_SECONDS_AT_MOST = 60
_WORDS = [
    b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"-1", b"-0", b"99999999999999999999",
    b"4294967297", b"2147483647", b"0:1", b"1:1", b":", b"|", b"'", b"#", b"qid:", b" ", b"\t",
    b",", b"\n", b"\r\n", b"\r", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3\xa9", b".", b"e5",
    b"+", b"--1", b"1.5.2",
]  # fmt: skip


@dataclass
class Kind:
    """A kind of file: a sound one, how to open it, and a plain reader of it if there is one."""

    name: str
    content: bytes
    options: dict = field(default_factory=dict)
    reference: Callable | None = None


def kinds(folder: Path) -> list[Kind]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_N_ROWS, _N_FEATURES)).round(3)
    X *= rng.random(X.shape) < 0.2
    y = rng.integers(0, 2, _N_ROWS)
    rows = [(y[i], np.flatnonzero(X[i])) for i in range(_N_ROWS)]
    svm = "".join(
        f"{label} " + " ".join(f"{j + 1}:{X[i, j]}" for j in at) + "\n"
        for i, (label, at) in enumerate(rows)
    ).encode()
    tsv = "".join(f"{y[i]}\t{X[i, 0]}\t{X[i, 1]}\tt{i % 5}\n" for i in range(_N_ROWS)).encode()
    sized = {"n_features": _N_FEATURES, "zero_based": False}
    named = {
        "columns": ["y", "a", "b", "t"], "target": "y", "categorical": ["t"], "hash_dim": 64,
        "encoding": "utf-8", "decimal": ".",
    }  # fmt: skip
    frame = pa.table({"a": X[:, 0], "t": [f"t{i % 5}" for i in range(_N_ROWS)], "y": y})
    jsonl = "".join(json.dumps(row) + "\n" for row in frame.to_pylist()).encode()
    parquet, npy = io.BytesIO(), io.BytesIO()
    pa.parquet.write_table(frame, parquet)
    np.save(npy, X)
    sparse_rows = open_source(sparse.csr_array(X), target=y, block_rows=16)
    dense_rows = open_source(X, target=y, block_rows=16)
    convert(sparse_rows, folder / "sound.arrow")
    sparse_arrow = (folder / "sound.arrow").read_bytes()
    convert(dense_rows, folder / "sound.arrow")
    dense_arrow = (folder / "sound.arrow").read_bytes()
    table = {"target": "y", "hash_dim": 64}
    return [
        Kind("rows.svm", svm, sized, partial(references.svmlight, n_features=_N_FEATURES)),
        Kind("rows.tsv", tsv, named, partial(references.table, n_numbers=2, hash_dim=64)),
        Kind("rows.csv", tsv.replace(b"\t", b","), named),
        Kind("rows.svm.gz", gzip.compress(svm, mtime=0), sized),
        Kind("table.jsonl", jsonl, table),
        Kind("table.parquet", parquet.getvalue(), table),
        Kind("sparse.arrow", sparse_arrow),
        Kind("dense.arrow", dense_arrow),
        Kind("dense.npy", npy.getvalue(), {"target": y}),
    ]


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three kinds of damage at random places."""
    for _ in range(rng.integers(1, 4)):
        at, to = np.sort(rng.integers(0, len(content) + 1, 2))
        word = _WORDS[rng.integers(len(_WORDS))]
        match rng.integers(8):
            case 0:
                content = content[:at]
            case 1:
                content = content[:at] + content[min(to, at + 20) :]
            case 2:
                content = content[:at] + word + content[at:]
            case 3:
                content = content[:at] + word + content[at + len(word) :]
            case 4:
                content = (
                    content[:at] + bytes(rng.integers(0, 256, 1, np.uint8)) + content[at + 1 :]
                )
            case 5:
                content = content[:at] + rng.bytes(8) + content[at + 8 :]
            case 6:
                content = content[:to] + content[at:to][:200] + content[to:]
            case 7:
                flipped = content[at : at + 1] and bytes([content[at] ^ 1 << rng.integers(8)])
                content = content[:at] + flipped + content[at + 1 :]
    return content


def examine(kind: Kind, content: bytes, folder: Path) -> str:
    """Read a damaged file both ways; returns what came of it, and fails where that is wrong."""
    path = folder / kind.name
    path.write_bytes(content)
    error, skipped, n_rows = None, 0, 0
    for on_bad_rows, missing in (("error", "error"), ("skip", "error"), ("skip", "nan")):
        given = {"on_bad_rows": on_bad_rows, "missing": missing, "block_rows": 16}
        try:
            source = open_source(path, **given, **kind.options)
            blocks = list(source)
        except ValueError as raised:
            if kind.name not in str(raised):
                raise
            error = error or str(raised)
            continue
        for block in blocks:
            _check_block(block, source.n_features, missing)
        if missing == "nan":
            assert sum(map(len, blocks)) >= n_rows
            continue
        skipped, n_rows = source.skipped, sum(map(len, blocks))
        if kind.reference is not None and b'"' not in content and not _is_read_otherwise(source):
            _check_rows(blocks, source, *kind.reference(content), on_bad_rows)
    if kind.reference is not None and b'"' not in content:
        _check_error(error, kind.reference(content)[1])
    return "refused" if error and not skipped else "skipped" if skipped else "read"


def _is_read_otherwise(source) -> bool:
    """Whether damage made text or numbers with decimal commas of a column, and notes say so."""
    return any(": text, as" in note or "before decimals" in note for note in source.notes)


def _check_block(block, n_features: int, missing: str) -> None:
    assert block.X.shape == (len(block.y), n_features)
    values = block.X.data if sparse.issparse(block.X) else block.X
    assert not (np.isinf(values) if missing == "nan" else ~np.isfinite(values)).any()
    # A damaged target may be read as text, whose words are classes.
    assert block.y.dtype.kind == "U" or np.isfinite(block.y.astype(float)).all()
    if sparse.issparse(block.X):
        block.X.check_format(full_check=True)
        assert block.X.has_canonical_format


def _check_rows(blocks, source, rows, bad: list[int], on_bad_rows: str) -> None:
    # Rows without a target and footnotes are left out, and said to be.
    is_said = any("left out" in note for note in source.notes)
    assert source.skipped <= len(bad) <= source.skipped + len(bad) * is_said, (source.skipped, bad)
    assert on_bad_rows == "skip" or not bad or is_said, "a bad line passed"
    found = [
        (y, dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)))
        for block in blocks
        for y, row in zip(block.y, (block.X[[i]] for i in range(len(block))), strict=True)
    ]
    assert len(found) == len(rows), (len(found), len(rows))
    for (y, entries), (label, expected) in zip(found, rows, strict=True):
        np.testing.assert_allclose(y, label, rtol=1e-15)
        # Entries of one column are added up in single precision.
        rounding = 1e-6 * max(map(abs, expected.values()), default=0)
        for key in entries.keys() | expected.keys():
            found, wanted = entries.get(key, 0), expected.get(key, 0)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=max(1e-37, rounding))


def _check_error(error: str | None, bad: list[int]) -> None:
    if bad and error is not None:
        assert any(f"line {line}:" in error for line in bad), (error, bad)


def run(n_files: int, seed: int = 0) -> Counter[str]:
    """Examine this many damaged files of all kinds in turn."""
    outcomes: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = kinds(folder)
        for kind in every:
            # Kernels are compiled before the time of a file is limited.
            examine(kind, kind.content, folder)
        for k in range(n_files):
            kind = every[k % len(every)]
            faulthandler.dump_traceback_later(_SECONDS_AT_MOST, exit=True)
            try:
                content = damaged(kind.content, rng)
                outcomes[f"{kind.name} {examine(kind, content, folder)}"] += 1
            except Exception as error:
                outcomes[f"{kind.name} FAILED"] += 1
                print(f"file {k} of seed {seed}, {kind.name}: {error!r}\n{content!r}"[:3000])
            finally:
                faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes = run(options.files, options.seed)
    for outcome, count in sorted(outcomes.items()):
        print(f"{outcome}: {count}")
    failed = sum(count for name, count in outcomes.items() if name.endswith("FAILED"))
    survived = outcomes.total() - failed
    print(f"{survived} damaged files: each refused by name, skipped and counted, or right")
    figures = [Figure("refused by name, skipped and counted, or right", survived, "files",
                      f">= {options.files}")]  # fmt: skip
    command = f"python -m benchmarks.scale.mutations --files {options.files}"
    record("damaged files", options.files, command, figures)


if __name__ == "__main__":
    main()
