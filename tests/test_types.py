"""Every type that y and X come in: the right task and feature, or an error that helps."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad import (
    DataWarning,
    FeatureGradientSelector,
    Learnability,
    MiniBatch,
    OnlineFeatureSelector,
    open_source,
    plan,
)

# One column all but decides the target here.
pytestmark = pytest.mark.filterwarnings("ignore:By itself:featgrad.DataWarning")
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
# Made of the second column.
NUMBERS = 2 * X[:, 1] + 0.1 * rng.standard_normal(60)
ABOVE = NUMBERS > 0
DAY = datetime.datetime(2020, 1, 1)


def objects(values) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array


GOOD_TARGETS = {
    "floats": (NUMBERS, "regression"),
    "single precision": (NUMBERS.astype(np.float32), "regression"),
    "half precision": (NUMBERS.astype(np.float16), "regression"),
    "long double": (NUMBERS.astype(np.longdouble), "regression"),
    "a list": (NUMBERS.tolist(), "regression"),
    "objects": (NUMBERS.astype(object), "regression"),
    "Decimal": (objects([Decimal(str(float(v))) for v in NUMBERS]), "regression"),
    "Fraction": (objects([Fraction(float(v)) for v in NUMBERS]), "regression"),
    "large integers": ((NUMBERS * 1e17).astype(np.int64), "regression"),
    "integers beyond 64 bits": ([int(v * 1e25) for v in NUMBERS], "regression"),
    "a column": (NUMBERS[:, None], "regression"),
    "a frame": (pd.DataFrame({"y": NUMBERS}), "regression"),
    "Arrow numbers": (pd.Series(NUMBERS, dtype="float64[pyarrow]"), "regression"),
    "an offset": (NUMBERS + 1e9, "regression"),
    "booleans": (ABOVE, "binary"),
    "boolean objects": (ABOVE.astype(object), "binary"),
    "nullable integers": (pd.Series(ABOVE.astype(int), dtype="Int64"), "binary"),
    "nullable booleans": (pd.Series(ABOVE, dtype="boolean"), "binary"),
    "words": (np.where(ABOVE, "yes", "no"), "binary"),
    "word objects": (np.where(ABOVE, "yes", "no").astype(object), "binary"),
    "bytes": (np.where(ABOVE, b"yes", b"no"), "binary"),
    "a category": (pd.Series(np.where(ABOVE, "yes", "no"), dtype="category"), "binary"),
    "a category of numbers": (
        pd.Series(np.digitize(NUMBERS, [-1, 1]), dtype="category"),
        "multiclass",
    ),
    "small integers": (np.digitize(NUMBERS, [-1, 1]).astype(np.int8), "multiclass"),
    "two outputs": (np.column_stack([NUMBERS, -NUMBERS]), "regression"),
    "two labels": (np.column_stack([ABOVE, ~ABOVE]).astype(int), "multilabel"),
}

BAD_TARGETS = {
    "datetime64": (
        np.datetime64(DAY) + (NUMBERS * 1e3).astype("timedelta64[h]"),
        "y holds datetime",
    ),
    "timedelta64": ((NUMBERS * 1e3).astype("timedelta64[h]"), "y holds timedelta"),
    "datetimes": ([DAY + datetime.timedelta(days=float(v)) for v in NUMBERS], "type datetime"),
    "dates": (objects([DAY.date()] * 60), "y holds objects of type date: give numbers or labels"),
    "timestamps": (pd.Series(pd.date_range("2020", periods=60)), "y holds datetime64"),
    "time zones": (pd.Series(pd.date_range("2020", periods=60, tz="UTC")), "y holds"),
    "periods": (pd.Series(pd.period_range("2020-01", periods=60, freq="M")), "type Period"),
    "a structure": (np.zeros(60, [("a", float)]), "y holds"),
    "complex": (NUMBERS + 1j, "Complex data not supported"),
    "infinity": (np.append(NUMBERS[1:], np.inf), "y contains infinity"),
    "nothing": (None, "requires y to be passed"),
    "ragged lists": ([[1], [1, 2]] * 30, "setting an array element with a sequence"),
    "too few": (NUMBERS[1:], "inconsistent numbers of samples"),
    "constant": (np.full(60, 0.1), "only one value"),
    "one class": (np.full(60, "a"), "only one value"),
    "too large": (NUMBERS * 1e200, "y holds values of up to .*e\\+200: rescale it"),
    "too small": (NUMBERS * 1e-200, "y holds values of up to .*e-200: rescale it"),
}

FRAME = pd.DataFrame(X, columns=list("abcd"))
GOOD_MATRICES = {
    "floats": X,
    "single precision": X.astype(np.float32),
    "half precision": X.astype(np.float16),
    "objects": X.astype(object),
    "Decimal": np.vectorize(lambda v: Decimal(str(float(v))), otypes=[object])(X),
    "integers": (30 * X).astype(np.int8),
    "booleans": X > 0,
    "column-major": np.asfortranarray(X),
    "every second row": np.repeat(X, 2, axis=0)[::2],
    "a list": X.tolist(),
    "a frame": FRAME,
    "nullable numbers": FRAME.astype("Float64"),
    "mixed types": FRAME.assign(a=FRAME["a"] > 0, c=(10 * FRAME["c"]).astype(int)),
    "CSC": sparse.csc_matrix(X),
    "COO": sparse.coo_array(X),
    **{f"times 1e{e}": X * 10.0**e for e in (-300, -160, -30, -12, 12, 20, 38, 155, 200, 300)},
    "single precision times 1e38": (X / 10 * 1e38).astype(np.float32),
    "sparse times 1e200": sparse.csr_array(X * 1e200),
    "columns of all sizes": X * [1e200, 1e-200, 1, 1e30],
    "an offset": X + 1e9,
}

BAD_MATRICES = {
    "text": (X.astype(str), "OneHotEncoder"),
    "datetimes": ((100 * X).astype("datetime64[s]"), "convert dates and times to numbers"),
    "durations": ((100 * X).astype("timedelta64[s]"), "convert dates and times to numbers"),
    "complex": (X + 1j, "Complex data not supported"),
    "NaN": (np.where(X > 2, np.nan, X), "contains NaN: pass missing='mean'"),
    "infinity": (np.where(X > 2, np.inf, X), "contains infinity"),
    "missing integers": (FRAME.round().astype("Int64").mask(FRAME > 2), "contains NaN: pass"),
    "one row": (X[:1], "inconsistent numbers of samples|minimum of 2"),
    "one dimension": (X[:, 1], "Expected 2D array"),
    "three dimensions": (X[None], "Found array with dim 3|expected <= 2"),
    "lists of words": ([["a", "b"]] * 60, "OneHotEncoder"),
}


def select(rows, y, **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(1, random_state=0, **options).fit(rows, y)


def test_one_huge_value_is_an_outlier():
    rows = np.where(np.arange(240).reshape(60, 4) == 14, 1e155, X)
    with pytest.warns(DataWarning, match=r"x2 \(1\)"):
        assert select(rows, NUMBERS).get_support(indices=True).tolist() == [1]


@pytest.mark.parametrize("name", GOOD_TARGETS)
def test_targets_of_every_type(name: str):
    y, task = GOOD_TARGETS[name]
    selector = select(X, y)
    assert selector.task_ == task
    assert selector.get_support(indices=True).tolist() == [1]


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_targets_that_cannot_be_used(name: str):
    y, message = BAD_TARGETS[name]
    with pytest.raises(ValueError, match=message):
        select(X, y)


@pytest.mark.parametrize("name", GOOD_MATRICES)
def test_matrices_of_every_type(name: str):
    rows = GOOD_MATRICES[name]
    selector = select(rows, NUMBERS)
    assert selector.get_support(indices=True).tolist() == [1]
    assert 0.6 < selector.learnability_.value < 1.2
    assert np.isfinite(selector.scores_).all()
    assert np.isfinite(Learnability(rows, NUMBERS).estimate().value)


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_matrices_that_cannot_be_used(name: str):
    rows, message = BAD_MATRICES[name]
    with pytest.raises(ValueError, match=message):
        select(rows, NUMBERS, missing="error")


@pytest.mark.parametrize("factor", [1e20, 1e155, 1e-30])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_sources_and_chunks_of_extreme_size_are_refused(factor: float, container):
    rows = container(X * factor)
    with pytest.raises(ValueError, match=r"of X holds values of up to .*: rescale it"):
        FeatureGradientSelector(1).fit_source(open_source(rows, target=NUMBERS, dtype="float64"))
    with pytest.raises(ValueError, match=r"of X holds values of up to .*: rescale it"):
        FeatureGradientSelector(1).partial_fit(rows, NUMBERS)


def test_extreme_columns_that_are_only_centred_are_refused():
    with pytest.raises(ValueError, match=r"Column 0, 1, 2, 3 of X holds values .*: rescale it"):
        select(X * 1e30, NUMBERS, preprocess="center")


def test_columns_that_hardly_vary_are_named(monkeypatch):
    rows = FRAME.assign(c=FRAME["c"] + 1e13)
    with pytest.warns(UserWarning, match="Column 'c' of X varies too little relative to its size"):
        FeatureGradientSelector(1).fit_source(open_source(rows.assign(y=NUMBERS), target="y"))
    # Chunks, as soon as not all rows are kept.
    monkeypatch.setattr(plan, "KEPT_ENTRIES", 100)
    selector = FeatureGradientSelector(1).partial_fit(rows, NUMBERS).partial_fit(rows, NUMBERS)
    with pytest.warns(UserWarning, match="Column 'c' of X varies too little relative to its size"):
        selector.finalize()


def test_a_sparse_column_that_hardly_varies_is_named_among_others():
    rows = open_source(sparse.csr_array(X + 1e8 * (np.arange(4) == 2)), target=NUMBERS)
    with pytest.warns(UserWarning, match="Column 2 of X varies too little relative to its size"):
        FeatureGradientSelector(1).fit_source(rows)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("search", ["auto", MiniBatch()])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_columns_far_from_zero_explain_as_much(container, search, offset: float):
    many = np.random.default_rng(0).standard_normal((300, 5))
    y = many[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(300)
    options = {"search": search, "random_state": 0}
    found = FeatureGradientSelector(1, **options).fit(container(many + offset), y)
    assert found.get_support(indices=True).tolist() == [1]
    assert found.learnability_.value > 0.97


def dicts(rows: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip("abcde", row, strict=True)) for row in rows.tolist()]


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, dicts])
@pytest.mark.parametrize("make", [OnlineFeatureSelector, FeatureGradientSelector])
def test_streams_and_chunks_far_from_zero_explain_as_much(make, container, offset: float):
    if container is dicts and make is FeatureGradientSelector:
        pytest.skip("takes no dicts")
    many = np.random.default_rng(0).standard_normal((300, 5))
    y = many[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(300)
    found = make(1)
    for start in range(0, 300, 60):
        found.partial_fit(container(many[start : start + 60] + offset), y[start : start + 60])
    getattr(found, "finalize", int)()
    assert found.get_support(indices=True).tolist() == [1]
    assert found.learnability_.value > 0.97


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, dicts])
def test_tiny_columns_of_a_stream_are_named_once(container):
    many = np.random.default_rng(0).standard_normal((300, 5)) * [1, 1e-40, 1, 1, 1]
    stream = OnlineFeatureSelector(1).partial_fit(container(many[:50]), many[:50, 0])
    with pytest.warns(UserWarning, match="Column .* of X holds values of up to .*e-40: rescale it"):
        stream.partial_fit(container(many[50:150]), many[50:150, 0])
    stream.partial_fit(container(many[150:]), many[150:, 0])


@pytest.mark.parametrize("kind", [int, float])
def test_whole_numbers_that_could_be_either_are_named(kind: type):
    many = np.random.default_rng(0).standard_normal((280, 3))
    y = np.random.default_rng(1).integers(0, 12, 280).astype(kind)
    with pytest.warns(UserWarning, match=r"task='multiclass' \(12 whole numbers.*'regression'"):
        assert select(many, y).task_ == "multiclass"
    assert select(many, y, task="regression").task_ == "regression"


def test_classes_nearly_as_many_as_rows_are_named():
    with pytest.warns(UserWarning, match="60 classes in 60 rows, nearly one for each"):
        select(X, [f"name {i}" for i in range(60)])


@pytest.mark.parametrize("names", [range(4), [("a", c) for c in "wxyz"]], ids=["numbers", "pairs"])
def test_frames_whose_names_are_no_texts_may_hold_text(names):
    frame = FRAME.assign(a=np.where(X[:, 0] > 0, "red", "blue")).set_axis(pd.Index(names), axis=1)
    selector = FeatureGradientSelector(1, random_state=0, estimate=False).fit(frame, NUMBERS)
    assert selector.get_support(indices=True).tolist() == [1]
    assert selector.transform(frame).columns.tolist() == [frame.columns[1]]


def test_sparse_columns_of_pandas_are_numbers():
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(np.where(X > 0, X, 0)))
    selector = FeatureGradientSelector(1, random_state=0, estimate=False)
    for one in (frame, frame.rename(columns=str)):
        assert selector.fit(one, NUMBERS).get_support(indices=True).tolist() == [1]
