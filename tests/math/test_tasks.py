"""What whole numbers are: by their values, and by held-out rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine

from featgrad.math.targets import Encoding
from featgrad.math.tasks import Level, RowsOf, task_of_values


def found(X, y, used=None, keys=None):
    used = np.arange(len(y)) if used is None else used
    return Encoding.of(y, "auto", rows=RowsOf(X.__getitem__, used, keys)).task


def linear(n_rows: int = 300, n_features: int = 20, seed: int = 0):
    """Columns, and a sum of five of them with deviation 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, X[:, :5].sum(axis=1) / 5**0.5, rng


def poisson(mean: float, seed: int = 0):
    X, signal, rng = linear(seed=seed)
    return X, rng.poisson(mean * np.exp(0.5 * signal))


def rounded(scale: float, centre: float):
    X, signal, rng = linear()
    return X, np.round(centre + scale * (signal + rng.standard_normal(len(signal))))


def days():
    X, signal, rng = linear()
    ranks = np.argsort(np.argsort(signal + rng.standard_normal(len(signal))))
    return X, ranks * 31 // len(ranks)


NUMBERS = {
    "counts of mean 3": lambda: poisson(3),
    "counts of mean 10": lambda: poisson(10),
    "counts of mean 300": lambda: poisson(300),
    "ages": lambda: rounded(9, 45),
    "delays": lambda: rounded(15, 5),
    "days of a month": days,
    "grey levels of a pixel": lambda: (np.delete(PIXELS, 43, axis=1), PIXELS[:, 43]),
}
PIXELS, DIGITS = load_digits(return_X_y=True)


def persons():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 10)
    return rng.standard_normal((40, 100))[y] + 1.5 * rng.standard_normal((400, 100)), y


CLASSES = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: (PIXELS, DIGITS),
    "some digits": lambda: (PIXELS[np.isin(DIGITS, (3, 5, 8))], DIGITS[np.isin(DIGITS, (3, 5, 8))]),
    "persons": persons,
}


@pytest.mark.filterwarnings("ignore:y is taken for")
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_numbers(name: str, container):
    X, y = NUMBERS[name]()
    assert found(container(X), y.astype(float)) == "regression"


@pytest.mark.filterwarnings("ignore:y is taken for")
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_classes(name: str, container):
    X, y = CLASSES[name]()
    assert found(container(X), y) == "multiclass"


def test_twelve_counts_that_are_taken_for_numbers_are_named():
    X, signal, rng = linear()
    y = np.clip(np.round(5.5 + 2 * signal + rng.standard_normal(300)), 0, 11)
    match = r"task='regression' \(12 whole numbers from 0 to 11; .*task='multiclass'"
    with pytest.warns(UserWarning, match=match):
        assert found(X, y) == "regression"


@pytest.mark.parametrize(("count", "task"), [(3, "multiclass"), (40, "regression")])
def test_what_nothing_predicts_is_taken_by_its_values(count: int, task: str):
    rng = np.random.default_rng(5)
    decided = found(rng.standard_normal((300, 10)), rng.integers(0, count, 300))
    assert decided == task
    assert "neither reading predicts held-out rows" in decided.reason


def test_few_values_that_only_numbers_predict_are_numbers():
    # Five classes with few rows and many columns, all of which depend a little on the number.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 150)
    X = 0.1 * y[:, None] + rng.standard_normal((150, 200))
    with pytest.warns(UserWarning, match="numbers predict held-out rows, classes do not"):
        assert found(X, y) == "regression"


def test_missing_values_and_columns_of_any_size_are_harmless():
    X, y = poisson(10)
    X[::7, 2] = np.nan
    X[:, 7], X[:, 8], X[:, 9] = np.nan, 1e300 * X[:, 8], 1e-300
    assert found(X, y) == "regression"


def test_rows_that_are_not_in_use_do_not_matter():
    X, y = persons()
    used = np.arange(0, 400, 2)
    other, others = X.copy(), y.copy()
    other[1::2], others[1::2] = 1e3, 0
    with pytest.warns(UserWarning, match="y is taken for"):
        decided = found(X, y, used)
    with pytest.warns(UserWarning, match="y is taken for"):
        assert found(other, others, used) == decided == "multiclass"


@pytest.mark.filterwarnings("ignore:y is taken for")
@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_rows_does_not_matter(seed: int):
    X, signal, rng = linear(100, 5, seed)
    # Hardly predictable, so that other folds would often decide otherwise.
    y = np.clip(np.round(3 + 0.3 * signal + rng.standard_normal(100)), 0, 6)
    order = rng.permutation(len(y))
    decided, again = found(X, y), found(X[order], y[order])
    assert (decided, decided.reason) == (again, again.reason)


def test_scores_of_groups_are_not_recognised_by_their_group():
    rng = np.random.default_rng(0)
    patients, score = np.repeat(np.arange(60), 10), rng.integers(0, 15, 60)
    X = rng.standard_normal((60, 50))[patients] + 0.1 * rng.standard_normal((600, 50))
    X[:, :5] += score[patients][:, None] / 5
    keys = rng.integers(0, 1 << 60, 60)[patients]
    assert found(X, score[patients]) == "multiclass"
    with pytest.warns(UserWarning, match="y is taken for task='regression'"):
        assert found(X, score[patients], keys=keys) == "regression"


def test_ordered_labels_are_ordinal_in_their_declared_order():
    declared = ("low", "mid", "high")
    y = Level.array(["mid", "low", "high", "low"], declared)
    encoding = Encoding.of(y, "auto")
    assert encoding.task == "ordinal"
    assert encoding.classes.tolist() == ["low", "mid", "high"]
    np.testing.assert_array_equal(encoding(y), [[1, 0], [0, 0], [1, 1], [0, 0]])
    first = Encoding.of(y[:2], "auto", classes=["low", "mid", "high"])
    np.testing.assert_array_equal(first(y), encoding(y))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([0.5, 1.0, 2.0], "not all values are whole numbers"),
        (np.arange(101), "101 different whole numbers"),
        (np.arange(3), "3 whole numbers from 0 to 2"),
        ([3, 5, 8], "3 whole numbers from 3 to 8, with gaps"),
        (["a", "b", "c"], "3 labels"),
        ([0, 7], "two values"),
    ],
)
def test_reasons_say_what_the_values_are(values, reason: str):
    assert task_of_values(np.asarray(values), 1000)[0].reason == reason


@pytest.mark.parametrize(
    "labels",
    [["low", "mid", "high", "vhigh"], ["Low", "Medium", "Very High"], ["1-5", "6-10", "11-20"],
     ["grade 3", "grade 9", "grade 10"], ["<18", "18-24", "25-64", "65+"], ["S", "M", "L", "XL"],
     ["never", "sometimes", "Often"], ["unacc", "acc", "good", "vgood"], ["A", "B", "C"],
     ["disagree", "neutral", "agree", "strongly_agree"], ["500-999", "1,000-5,000"]],
)  # fmt: skip
def test_texts_of_a_usual_scale_are_in_its_order(labels):
    codes = np.arange(60) % len(labels)
    encoding = Encoding.of(np.array(labels)[codes], "ordinal")
    assert encoding.classes.tolist() == labels
    expected = Encoding.of(codes, "ordinal")(codes)
    np.testing.assert_array_equal(encoding(np.array(labels)[codes]), expected)


@pytest.mark.parametrize("labels", [["red", "green", "blue"], ["grade 3", "grade 03", "grade 4"]])
def test_texts_of_no_scale_need_an_order(labels):
    with pytest.raises(ValueError, match="needs their order: give an ordered category"):
        Encoding.of(np.array(labels), "ordinal")
