"""The generators of large data, small, and the readers on damaged files."""

import json

import numpy as np
import pytest
from benchmarks.helpers import record
from benchmarks.helpers.scale import criteo, webspam
from benchmarks.helpers.scale.references import fingerprint
from benchmarks.scale import generate, mutations, tall
from scipy import sparse

from featgrad.readers import open_source


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_files_are_refused_skipped_or_read_rightly(seed: int):
    outcomes = mutations.run(150, seed)
    assert outcomes.total() == 150
    assert not any(outcome.endswith("FAILED") for outcome in outcomes)


SHAPE = {"n_rows": 3000, "n_features": 20_000, "per_row": 50, "n_planted": 10}


def test_webspam_like_rows_are_the_same_every_time(tmp_path):
    path = tmp_path / "rows.arrow"
    planted = generate.write_webspam(path, **SHAPE, seed=3)
    assert generate.read_planted(path) == planted
    drawn = webspam.WebspamLike(**SHAPE, seed=3)
    for block, again in zip(open_source(path, block_rows=1000), drawn, strict=True):
        assert abs(block.X - again.X).max() == 0
        np.testing.assert_array_equal(block.y, again.y)


def test_webspam_like_rows_have_their_shape_and_plant():
    source = webspam.WebspamLike(**SHAPE)
    blocks = list(source)
    X = sparse.vstack([block.X for block in blocks]).tocsc()
    y = np.concatenate([block.y for block in blocks])
    assert X.shape == (3000, 20_000)
    assert 45 < X.nnz / 3000 < 55
    assert abs(y.mean()) < 0.2
    np.testing.assert_allclose(X.power(2).sum(axis=1), 1, rtol=1e-5)
    held = np.diff(X.indptr)
    X.data[:] = 1
    lean = abs(X.T @ (y - y.mean())) / np.sqrt(held + 1)
    assert np.isin(source.planted, np.argsort(-lean)[:20]).mean() >= 0.8


def test_criteo_like_text_holds_its_planted_tokens(tmp_path):
    path = tmp_path / "clicks.tsv"
    planted = generate.write_criteo(path, 5000)
    source = open_source(
        path, target="label", columns=criteo.COLUMNS, categorical=criteo.TOKENS,
        hash_dim=260_000, missing="zero",
    )  # fmt: skip
    blocks = list(source)
    assert sum(len(block) for block in blocks) == 5000
    assert 0.1 < np.concatenate([block.y for block in blocks]).mean() < 0.4
    features = [
        13 + criteo.TOKENS.index(it["column"]) * 10_000
        + fingerprint(it["token"].encode()) % 10_000
        for it in planted
    ]  # fmt: skip
    found = source.tokens_of(features)
    assert np.mean([it["token"] in found[f] for it, f in zip(planted, features, strict=True)]) > 0.9


def test_tall_table_holds_its_planted_columns(tmp_path, capsys):
    tall.tall(tmp_path, n_rows=2000, n_columns=25)
    assert "20 of 20 planted features" in capsys.readouterr().out


def test_a_figure_takes_the_place_of_its_older_self(tmp_path):
    for measured in (7.0, 5.0):
        figures = [record.Figure("epoch", measured, "x", "<= 6"), record.Figure("peak", 2, "GiB")]
        record.record("some shape", 10, "a command", figures, tmp_path)
    found = json.loads((tmp_path / "results.json").read_text())
    assert [(f["bar"], f["measured"], f["met"]) for f in found] == [
        ("epoch", 5.0, True),
        ("peak", 2.0, None),
    ]
    assert "| some shape | 10 | epoch | 5 x | <= 6 | yes |" in (tmp_path / "summary.md").read_text()
