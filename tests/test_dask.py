"""Fits of Dask collections against the same rows in one process."""

import contextlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dask_builders import array, uneven
from featgrad import (
    FeatureGradientSelector,
    Knockoffs,
    Learnability,
    MiniBatch,
    learnability,
    open_source,
)

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N_ROWS = 600


@pytest.fixture(autouse=True)
def _scheduler():
    with dask.config.set(scheduler="synchronous"):
        yield


def planted(n_features: int = 30, n_rows: int = N_ROWS, n_outputs: int = 1):
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.5)
    X[:, 3] += 0.7 * X[:, 1]
    Y = X[:, 1:8] @ rng.standard_normal((7, n_outputs)) + rng.standard_normal((n_rows, n_outputs))
    return X, Y[:, 0] if n_outputs == 1 else Y


def in_one_process(selector, X, y, weight=None):
    source = open_source(X, target=y, weight=weight, dtype="float64", missing="nan")
    return selector.fit_source(source)


def select(size=5, **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(size, random_state=0, **options)


def assert_same(found, expected) -> None:
    assert found.get_support(indices=True).tolist() == expected.get_support(indices=True).tolist()
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-6)
    assert found.task_ == expected.task_
    if expected.learnability_ is not None:
        assert found.learnability_.value == pytest.approx(expected.learnability_.value, abs=1e-5)


# Moments of all columns, and those of working sets with pricing.
WIDTHS = [30, 1500]


@pytest.mark.parametrize("n_features", WIDTHS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_arrays(n_features: int, container):
    X, y = planted(n_features)
    sizes = uneven(N_ROWS)
    found = select().fit(array(container(X), sizes), array(y, sizes))
    assert_same(found, in_one_process(select(), container(X), y))
    assert str(found.plan_).startswith("search")
    assert "in partitions" in str(found.plan_)


def test_many_columns_that_are_mostly_empty():
    X, y = planted(50)
    wide = sparse.hstack(
        [X, sparse.random_array((N_ROWS, 9000), density=2e-4, random_state=0)]
    ).tocsr()
    da, parts = pytest.importorskip("dask.array"), np.array_split(np.arange(N_ROWS), 6)
    blocks = [
        da.from_delayed(dask.delayed(wide[rows]), (len(rows), 9050), float, wide[:0])
        for rows in parts
    ]
    found = select().fit(da.concatenate(blocks), array(y, tuple(map(len, parts))))
    assert_same(found, in_one_process(select(), wide, y))


@pytest.mark.parametrize("n_features", WIDTHS)
def test_weights_groups_and_several_outputs(n_features: int):
    X, Y = planted(n_features, n_outputs=3)
    weight = np.random.default_rng(0).integers(0, 4, N_ROWS).astype(float)
    sizes = uneven(N_ROWS)
    groups = np.arange(n_features) // 2
    chosen = select(6, feature_groups=groups).fit(*(array(part, sizes) for part in (X, Y, weight)))
    assert_same(chosen, in_one_process(select(6, feature_groups=groups), X, Y, weight))


def test_frames_whose_chunk_sizes_are_unknown():
    X, y = planted()
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(30)])
    frame["y"] = np.where(y > 0, "yes", "no")
    parts = dd.from_pandas(frame, npartitions=9, sort=False)
    parts = parts[parts["column 0"] != 99.0]
    features = parts.drop(columns="y")
    found = select().fit(features, parts["y"])
    assert_same(found, in_one_process(select(), X, frame["y"].to_numpy()))
    assert found.get_feature_names_out()[0] == "column 1"
    reduced = found.transform(features)
    assert isinstance(reduced, dd.DataFrame)
    assert reduced.compute().columns.tolist() == found.get_feature_names_out().tolist()
    of_arrays = select().fit(features.to_dask_array(), parts["y"])
    assert_same(of_arrays, found)


def test_a_hundred_partitions_some_of_which_have_one_class():
    X, y = planted()
    order = np.argsort(y)
    X, classes = X[order], np.digitize(y[order], [-1.0, 1.0])
    sizes = uneven(N_ROWS, 100)
    found = select().fit(array(X, sizes), array(classes, sizes))
    assert found.task_ == "multiclass"
    assert_same(found, in_one_process(select(), X, classes))


def test_automatic_size_and_resamples():
    X, y = planted()
    sizes = uneven(N_ROWS)
    found = select("auto", n_resamples=4).fit(array(X, sizes), array(y, sizes))
    expected = in_one_process(select("auto", n_resamples=4), X, y)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.stability_.frequencies, expected.stability_.frequencies)


def test_more_rows_than_have_an_exact_order(monkeypatch):
    monkeypatch.setattr("featgrad.dataset.reread.EXACT_ORDER_ROWS", 500)
    X, y = planted()
    sizes = uneven(N_ROWS)
    found = select().fit(array(X, sizes), array(y, sizes))
    assert_same(found, in_one_process(select(), X, y))


def test_missing_entries_count_as_means_of_all_partitions():
    X, y = planted()
    X[::7, 1] = np.nan
    sizes = uneven(N_ROWS)
    found = select(missing="mean").fit(array(X, sizes), array(y, sizes))
    assert_same(found, in_one_process(select(missing="mean"), X, y))


def test_the_partition_of_missing_entries_is_named():
    X, y = planted()
    sizes = uneven(N_ROWS)
    X[sum(sizes[:4]), 2] = np.nan
    with pytest.raises(ValueError, match="Partition 4: Input X contains NaN: pass missing='mean'"):
        select(missing="error").fit(array(X, sizes), array(y, sizes))


def test_the_partition_of_a_wrong_type_is_named():
    X, y = planted()
    sizes = uneven(N_ROWS)
    texts = array(X, sizes).map_blocks(
        lambda block, block_info: block.astype(str) + "x" if block_info[0]["chunk-location"][0] == 3
        else block, dtype=float,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"Partition 3: .*[Cc]onvert"):
        select().fit(texts, array(y, sizes))


def test_categories_of_numbers_and_dummies_of_texts():
    X, y = planted()
    frame = pd.DataFrame(X).rename(columns=str).assign(y=y)
    frame["1"] = pd.Categorical(np.round(frame["1"], 1))
    kinds = np.select([X[:, 4] > 0, X[:, 5] > 0], ["a", "b"], "c")
    frame["kind"] = pd.Categorical(kinds)
    features = dd.get_dummies(dd.from_pandas(frame, npartitions=5, sort=False), columns=["kind"])
    y_parts = features.pop("y")
    expected = pd.get_dummies(frame.drop(columns="y"), columns=["kind"]).astype(float)
    groups = [name.split("_")[0] for name in expected.columns]
    found = select(6, feature_groups=groups).fit(features, y_parts)
    assert_same(found, in_one_process(select(6, feature_groups=groups), expected.to_numpy(), y))
    assert found.feature_names_in_[-1] == "kind_c"


def test_columns_that_hold_no_numbers_are_named():
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), npartitions=1)
    with pytest.raises(ValueError, match="Column 'b' of X holds"):
        select(1).fit(frame, frame["a"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda y: y.compute(), "y is of type ndarray but X is a Dask collection"),
        (lambda _: None, "y is of type NoneType but X is a Dask collection"),
        (lambda y: y.rechunk(5), "y has 120 partitions and X has 7"),
        (lambda y: y.rechunk((uneven(N_ROWS)[::-1],)), "rows are divided differently"),
    ],
)
def test_targets_have_the_partitions_of_the_features(wrong, message: str):
    X, y = planted()
    sizes = uneven(N_ROWS)
    with pytest.raises(ValueError, match=message):
        select().fit(array(X, sizes), wrong(array(y, sizes)))


def test_lengths_that_differ_are_found_where_sizes_are_unknown():
    X, y = planted()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4, sort=False)
    series = dd.from_pandas(pd.Series(y), npartitions=4, sort=False)
    with pytest.raises(ValueError, match=r"Partition \d: y has \d+ rows but X has \d+"):
        select().fit(frame, series[series > 0])


def test_knockoffs_are_refused_before_anything_is_computed():
    da = pytest.importorskip("dask.array")
    never = da.zeros((10, 4), chunks=5).map_blocks(pytest.fail, dtype=float)
    with pytest.raises(ValueError, match=r"search=Knockoffs\(\) needs rows in memory"):
        FeatureGradientSelector(search=Knockoffs()).fit(never, never[:, 0])


def test_a_penalty_takes_the_steps_of_one_process():
    X, y = planted(30)
    sizes = (10,) * 60
    search = MiniBatch(penalty=0.5, batch_size=10)
    found = FeatureGradientSelector(search=search, random_state=0)
    found.fit(array(X, sizes), array(y, sizes))
    source = open_source(X, target=y, dtype="float64", block_rows=10)
    expected = FeatureGradientSelector(search=search, random_state=0).fit_source(source)
    assert found.get_support().tolist() == expected.get_support().tolist()
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_large_sets_take_the_steps_of_one_process(container):
    X, y = planted(200)
    sizes = (10,) * 60
    found = select(20, search=MiniBatch()).fit(array(container(X), sizes), array(y, sizes))
    assert found.n_iter_ == 40
    # The same batches, one for each partition.
    found = select(20, search=MiniBatch(batch_size=10))
    found.fit(array(container(X), sizes), array(y, sizes))
    source = open_source(container(X), target=y, dtype="float64", block_rows=10)
    expected = select(20, search=MiniBatch(batch_size=10)).fit_source(source)
    assert found.n_iter_ == 60
    assert found.get_support().tolist() == expected.get_support().tolist()
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-5, atol=1e-5)


def test_sets_too_large_for_a_working_set_are_streamed():
    X, y = planted(1600)
    sizes = uneven(N_ROWS)
    found = select(501).fit(array(X, sizes), array(y, sizes))
    assert isinstance(found.plan_.search, MiniBatch)
    assert found.n_features_ == 501
    assert found.n_iter_ == 40  # in eight epochs
    assert found.get_support()[1:8].all()


def test_nothing_is_rechunked_or_kept(monkeypatch):
    da = pytest.importorskip("dask.array")
    for name in ("rechunk", "persist"):
        monkeypatch.setattr(da.Array, name, lambda *_, **__: pytest.fail("not asked for"))
    X, y = planted()
    sizes = uneven(N_ROWS)
    select().fit(array(X, sizes, 3), array(y, sizes))


class Counted:
    """A source of rows that counts how often each chunk is read."""

    def __init__(self, values):
        self.values, self.shape, self.ndim, self.dtype = values, values.shape, 2, values.dtype
        self.read: list[int] = []

    def __getitem__(self, index):
        self.read.append(index[0].start)
        return self.values[index]


def test_features_and_target_are_read_together_once_in_each_visit():
    da = pytest.importorskip("dask.array")
    X, y = planted()
    source = Counted(np.column_stack([y, X]))
    rows = da.from_array(source, chunks=(60, 31), meta=np.empty((0, 0)))
    found = select().fit(rows[:, 1:], rows[:, 0])
    assert_same(found, in_one_process(select(), X, y))
    assert sorted(source.read) == sorted([*range(0, N_ROWS, 60)] * 2)


def test_tasks_that_partitions_have_in_common_run_once_in_each_visit():
    da = pytest.importorskip("dask.array")
    X, y = planted()
    source = Counted(np.column_stack([y, X]))
    rows = da.from_array(source, chunks=(300, 31), meta=np.empty((0, 0))).rechunk((100, 31))
    found = select().fit(rows[:, 1:], rows[:, 0])
    assert_same(found, in_one_process(select(), X, y))
    assert sorted(source.read) == [0, 0, 300, 300]


@pytest.mark.parametrize("n_column_chunks", [1, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_transform_is_lazy(container, n_column_chunks: int):
    X, y = planted()
    selector = select().fit(X, y)
    if container is sparse.csr_array:
        n_column_chunks = 1
    reduced = selector.transform(array(container(X), uneven(N_ROWS), n_column_chunks))
    assert dask.is_dask_collection(reduced)
    assert reduced.shape == (N_ROWS, 5)
    values = reduced.compute()
    assert sparse.issparse(values) == (container is sparse.csr_array)
    values = values.toarray() if sparse.issparse(values) else values
    np.testing.assert_array_equal(values, X[:, selector.get_support()])


def test_transform_checks_features():
    X, y = planted()
    selector = select().fit(X, y)
    with pytest.raises(ValueError, match="X has 29 features"):
        selector.transform(array(X[:, 1:], uneven(N_ROWS)))


def test_learnability_of_collections():
    X, y = planted()
    sizes = uneven(N_ROWS)
    found = learnability(array(X, sizes), array(y, sizes), features=[1, 2, 3])
    expected = learnability(X, y, features=[1, 2, 3])
    assert found.value == pytest.approx(expected.value, abs=0.01)
    frame = dd.from_pandas(pd.DataFrame(X).rename(columns=str), npartitions=3, sort=False)
    series = dd.from_pandas(pd.Series(y), npartitions=3, sort=False)
    assert Learnability(frame, series).estimate(["1", "2", "3"]).value == pytest.approx(
        expected.value, abs=0.01
    )


class Here:
    """A client of the scheduler that tests use."""

    as_current = staticmethod(contextlib.nullcontext)


@pytest.fixture(params=["table", "rows"])
def folder(request, tmp_path) -> Path:
    """Parquet files of uneven row groups: numbers and text, or lists of entries."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = planted()
    if request.param == "table":
        frame = pd.DataFrame(X).rename(columns=str)
        frame["kind"] = pd.Categorical(np.where(X[:, 4] > 0, "a", np.where(X[:, 5] > 0, "b", "c")))
        table = pa.Table.from_pandas(frame.assign(y=y), preserve_index=False)
    else:
        rows = sparse.csr_array(X.astype(np.float32))
        idx = pa.ListArray.from_arrays(rows.indptr, rows.indices)
        val = pa.ListArray.from_arrays(rows.indptr, rows.data)
        metadata = {"featgrad": json.dumps({"n_features": X.shape[1], "features": None})}
        table = pa.table({"idx": idx, "val": val, "y": y}, metadata=metadata)
    for i, start in enumerate((0, 250, 260)):
        part = table.slice(start, (250, 10, 340)[i])
        pq.write_table(part, tmp_path / f"part-{i}.parquet", row_group_size=70)
    return tmp_path


def test_workers_read_row_groups_of_files(folder: Path):
    source = open_source(folder / "part-*.parquet", target="y", block_rows=32)
    parts = [sum(len(block) for block in part) for part in source.parts()]
    assert parts == [70, 70, 70, 40, 10, 70, 70, 70, 70, 60]
    found = select(8).fit_source(source, client=Here())
    assert_same(found, select(8).fit_source(source))


def test_the_row_of_a_file_that_cannot_be_read_is_named(folder: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "part-1.parquet"
    table = pq.read_table(path)
    y = [*table["y"].to_pylist()[:-1], np.inf]
    pq.write_table(table.set_column(table.schema.get_field_index("y"), "y", pa.array(y)), path)
    source = open_source(folder, target="y")
    with pytest.raises(ValueError, match=r"Partition 4: .*part-1.parquet, row 10: .*target"):
        select(8).fit_source(source, client=Here())


def test_files_on_a_cluster_take_no_checkpoint(tmp_path):
    X, y = planted()
    source = open_source(X, target=y)
    with pytest.raises(ValueError, match="leave out checkpoint or client"):
        select().fit_source(source, checkpoint=tmp_path / "fit.npz", client=Here())


def dying_once(block, marker: Path):
    """The worker that is the first to compute this is lost."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_neither_a_lost_worker_nor_persisted_rows_change_anything(tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y = planted()
    sizes = uneven(N_ROWS)
    expected = select().fit(array(X, sizes), array(y, sizes))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set(scheduler="distributed"),
        distributed.LocalCluster(**options, silence_logs=50) as cluster,
        distributed.Client(cluster),
    ):
        parts = array(X, sizes).map_blocks(dying_once, tmp_path / "dead", dtype=float, meta=X[:0])
        found = select().fit(parts, array(y, sizes))
        persisted = select().fit(parts.persist(), array(y, sizes).persist())
    assert (tmp_path / "dead").exists()
    assert found.get_support().tolist() == expected.get_support().tolist()
    np.testing.assert_array_equal(found.scores_, expected.scores_)
    np.testing.assert_array_equal(persisted.scores_, expected.scores_)
