"""Rows read block by block against the same rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import (
    N_FOLDS,
    folds_of_rows,
    in_memory,
    mixed_columns,
    order_of,
    preparation,
    streamed,
)
from featgrad.dataset import reread
from featgrad.dataset.source import Streamed
from featgrad.dataset.splits import random_splits
from featgrad.readers import Block

CONTAINERS = [np.asarray, sparse.csr_array]
COLUMNS = np.array([0, 1, 3, 4, 5])


class AllRows:
    """All rows, in the order in which they are visited."""

    def __init__(self) -> None:
        self.blocks = []

    def add(self, rows) -> None:
        self.blocks.append(rows)


class Gathered:
    def __init__(self, dataset) -> None:
        blocks = dataset.visit("rows", AllRows).blocks
        parts = [np.concatenate(part) for part in list(zip(*blocks, strict=True))[:3]]
        self.outputs, self.weights, self.cells = parts
        self.X = np.concatenate([np.asarray(block.X) for block in blocks])


@pytest.mark.parametrize("block_rows", [1, 37, 1000])
def test_visited_rows_have_their_weights_outputs_and_folds(block_rows: int):
    X, Y, weight = mixed_columns(300, 9, 2)
    found = Gathered(streamed(X, Y, weight, block_rows=block_rows))
    weights = weight / weight.sum()
    centred = Y - weights @ Y
    np.testing.assert_allclose(found.weights, weights)
    np.testing.assert_allclose(found.outputs, centred / np.sqrt(weights @ centred**2), rtol=1e-9)
    np.testing.assert_array_equal(found.cells, folds_of_rows(weight))
    np.testing.assert_array_equal(found.X, X)


def test_rows_of_weight_zero_are_absent():
    X, Y, weight = mixed_columns(300, 9)
    weight[::4] = 0
    dataset = streamed(X, Y, weight)
    assert dataset.n_rows == 225
    found = Gathered(dataset)
    np.testing.assert_array_equal(found.X, X[weight > 0])
    np.testing.assert_allclose(found.weights, weight[weight > 0] / weight.sum())


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("n_rows", "block_rows"), [(12, 3), (12, 100), (900, 60), (900, 5000)])
def test_centred_moments_are_those_of_rows_in_memory(container, n_rows: int, block_rows: int):
    X, Y, weight = mixed_columns(n_rows, 9, 2)
    from_source = streamed(container(X), Y, weight, block_rows=block_rows)
    from_memory = in_memory(container(X), Y, weight)
    for dataset in (from_source, from_memory):
        dataset.marginals([dataset.whole])
    found, expected = (
        dataset.cell_moments(COLUMNS).centred(dataset.whole)[0]
        for dataset in (from_source, from_memory)
    )
    assert found.n_effective == pytest.approx(expected.n_effective)
    np.testing.assert_allclose(found.weights, expected.weights)
    np.testing.assert_allclose(found.variance, expected.variance)
    np.testing.assert_allclose(found.crosses, expected.crosses, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.grams, expected.grams, rtol=1e-4, atol=1e-6)


def test_fewer_rows_than_folds_are_folds_of_one_row():
    X, Y, _ = mixed_columns(4, 9)
    dataset = streamed(X, Y)
    assert dataset.n_folds == 4
    assert sorted(Gathered(dataset).cells) == [0, 1, 2, 3]


@pytest.mark.parametrize("container", CONTAINERS)
def test_sample_of_few_rows_holds_all_of_them_in_random_order(container):
    X, Y, weight = mixed_columns(200, 9, 2)
    sample = streamed(container(X), Y, weight).sample(COLUMNS)
    same = in_memory(container(X), Y, weight).sample(COLUMNS)
    assert sample.clusters is None
    np.testing.assert_array_equal(sample.folds, same.folds)
    np.testing.assert_allclose(sample.outputs, same.outputs, rtol=1e-9, atol=1e-12)
    assert sample.variance == pytest.approx(same.variance)
    np.testing.assert_allclose(sample.weights, same.weights)
    found, expected = (each.columns.values() for each in (sample, same))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_sample_of_many_rows_is_from_all_folds(monkeypatch):
    monkeypatch.setattr(reread, "ESTIMATE_ROWS", 70)
    X, Y, weight = mixed_columns(200, 9)
    dataset = streamed(X, Y, weight)
    sample = dataset.sample(COLUMNS)
    order = order_of(weight)
    spread = order[np.arange(len(order)) * 70 % len(order) < 70]
    centred = Y - weight @ Y / weight.sum()
    np.testing.assert_allclose(sample.outputs, centred[spread], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sample.weights, weight[spread] / weight[spread].sum())
    assert len(sample.folds) == 70
    assert np.ptp(np.bincount(sample.folds, minlength=dataset.n_folds)) <= 1


def test_sample_has_the_variance_of_all_rows(monkeypatch):
    monkeypatch.setattr(reread, "ESTIMATE_ROWS", 70)
    X, Y, weight = mixed_columns(200, 9)
    sample = streamed(X, Y, weight).sample(COLUMNS)
    weights = weight / weight.sum()
    assert sample.variance == pytest.approx(np.sum(weights @ (Y - weights @ Y) ** 2))


@pytest.mark.parametrize(("kept", "expected"), [(400, 100), (1, 64)])
def test_sample_holds_as_many_entries_as_may_be_kept(monkeypatch, kept: int, expected: int):
    monkeypatch.setattr(reread, "KEPT_ENTRIES", kept)
    X, Y, _ = mixed_columns(200, 9)
    sample = streamed(X, Y).sample(np.array([0, 1, 2, 3]))
    assert len(sample.weights) == expected


class Batches:
    """What a search is given."""

    def __init__(self) -> None:
        self.parts = []

    def add(self, outputs, weights, X) -> None:
        self.parts.append((outputs, weights, X))


@pytest.mark.parametrize("build", [streamed, in_memory])
def test_streamed_batches_hold_every_row_once(build):
    X, Y, weight = mixed_columns(200, 9)
    batches = Batches()
    build(X, Y, weight).stream("all", 30, batches)
    outputs, weights, values = (np.concatenate(part) for part in zip(*batches.parts, strict=True))
    assert max(len(part[1]) for part in batches.parts) <= 30
    order, expected = np.argsort(values[:, 0]), np.argsort(X[:, 0])
    np.testing.assert_array_equal(values[order], X[expected])
    np.testing.assert_allclose(weights[order], weight[expected] / weight.sum())
    assert np.corrcoef(outputs[order, 0], Y[expected, 0])[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("container", CONTAINERS)
def test_streamed_batches_have_no_missing_entries(container):
    X, Y, _ = mixed_columns(200, 9)
    folds = folds_of_rows(np.ones(200))
    [part] = [split.test for split in random_splits(N_FOLDS) if folds[0] in split.test]
    mean = X[1:, 0][np.isin(folds[1:], part)].mean()
    X[0, 0] = np.nan
    batches = Batches()
    streamed(container(X), Y, missing="mean").stream("all", 30, batches)
    first = batches.parts[0][2]
    assert (first.toarray() if sparse.issparse(first) else first)[0, 0] == pytest.approx(mean)


def test_missing_entries_are_refused_unless_they_count_as_means():
    X, Y, _ = mixed_columns(50, 9)
    X[40, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        streamed(X, Y)


def test_one_row_is_too_few():
    X, Y, _ = mixed_columns(50, 9)
    weight = np.zeros(50)
    weight[3] = 1
    with pytest.raises(ValueError, match=r"1 row\(s\) of positive weight"):
        streamed(X, Y, weight)


def of_blocks(blocks_of_pass) -> Streamed:
    """A source whose blocks may differ from pass to pass."""

    class Changing:
        n_features, feature_names, groups, n_rows, block_rows, skipped = 9, None, None, None, 100, 0
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(blocks_of_pass(self.passes))

    return Streamed(Changing(), preparation())


@pytest.mark.parametrize(("later", "message"), [(3, "and 300 when"), (1, "and 100 when")])
def test_rows_that_come_or_go_between_passes_are_noticed(later: int, message: str):
    X, Y, _ = mixed_columns(300, 9)

    def blocks(passes: int):
        count = 2 if passes == 1 else later
        return [Block(X[i : i + 100], Y[i : i + 100, 0]) for i in range(0, 100 * count, 100)]

    dataset = of_blocks(blocks)
    with pytest.raises(ValueError, match=f"200 rows .* {message} it was read again"):
        dataset.marginals([dataset.whole])


def test_targets_that_change_between_passes_are_noticed():
    X, Y, _ = mixed_columns(300, 9)

    def blocks(passes: int):
        y = Y[:, 0].copy()
        y[150] += passes
        return [Block(X[i : i + 100], y[i : i + 100]) for i in range(0, 300, 100)]

    dataset = of_blocks(blocks)
    with pytest.raises(ValueError, match=r"not what it was .* in rows 101 to 200"):
        dataset.marginals([dataset.whole])
