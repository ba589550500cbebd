"""Streams and peers of the online benchmark."""

import numpy as np
import pytest
from benchmarks.helpers.online import streams
from benchmarks.helpers.online.judge import judge
from benchmarks.helpers.online.peers import PEERS


@pytest.fixture
def stream() -> streams.Stream:
    """Columns 1 and 4 of eight decide the class."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 8))
    y = (X[:, 1] - X[:, 4] + 0.3 * rng.standard_normal(3000) > 0).astype(int)
    return streams.Stream(X, y, (2,), (0,), (np.array([1, 4]),))


@pytest.mark.parametrize("name", ["featgrad", "window F", "window L1", "FIRES", "OFS", "frozen"])
def test_selectors_find_what_matters(stream, name: str):
    figures = judge(stream, PEERS[name], 2)
    assert figures["found"] > 0.9
    assert figures["auc"] > 0.9


@pytest.mark.parametrize("name", streams.GENERATED)
def test_known_columns_predict_the_class_of_generated_rows(name: str, monkeypatch):
    monkeypatch.setattr(streams, "ROWS", 4000)
    stream = streams.GENERATED[name](0)
    rows = slice(0, stream.starts[1])
    columns = stream.X[rows][:, stream.truth[0]].astype(float)
    fitted = np.linalg.lstsq(columns - columns.mean(axis=0), stream.y[rows] - 0.5, rcond=None)[0]
    side = (columns - columns.mean(axis=0)) @ fitted
    assert np.corrcoef(side, stream.y[rows])[0, 1] > 0.3


def test_active_columns_follow_their_starts():
    stream = streams.Stream(None, None, (1,), (0, 10), ("first", "second"))
    assert [stream.active(row) for row in (0, 9, 10)] == ["first", "first", "second"]
