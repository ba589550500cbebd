import numpy as np
import pytest
from scipy import sparse

from featgrad.math.targets import Encoding, centre, encode, stratified, to_one_variance

LETTERS = np.array(["b", "a", "c", "a"])


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([0.5, 1.5, 2.5], "regression"),
        ([0, 1, 1], "binary"),
        ([0.0, 1.0, 1.0], "binary"),
        ([0.3, 0.7, 0.7], "binary"),
        ([True, False, True], "binary"),
        (["yes", "no"], "binary"),
        ([0, 1, 2], "multiclass"),
        ([0.0, 1.0, 2.0], "multiclass"),
        (["a", "b", "c"], "multiclass"),
        (np.arange(100), "regression"),
        (np.repeat(np.arange(20), 10), "multiclass"),
        (np.repeat(np.arange(1, 21), 10), "multiclass"),
        (np.repeat(np.arange(21), 10), "regression"),
        (np.repeat(np.arange(20), 2), "regression"),
        ([-1, 0, 1], "regression"),
        ([1, 2, 4], "regression"),
        ([7, 8, 9], "regression"),
        ([[0, 1], [1, 1]], "multilabel"),
        ([[0.0, 1.0], [1.0, 1.0]], "multilabel"),
        ([[0.0, 2.0], [1.0, 1.0]], "regression"),
    ],
)
def test_inferred_task(y, task: str):
    assert encode(np.asarray(y), "auto")[1] == task


@pytest.mark.parametrize(
    ("y", "task", "expected"),
    [
        ([3, 1, 2], "regression", [[3], [1], [2]]),
        (["3", "1.5"], "regression", [[3], [1.5]]),
        ([[1, 2], [3, 4]], "regression", [[1, 2], [3, 4]]),
        ([[1], [2]], "regression", [[1], [2]]),
        (["no", "yes", "no"], "binary", [[0], [1], [0]]),
        ([5, 5, 7], "binary", [[0], [0], [1]]),
        (LETTERS, "multiclass", [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]]),
        (LETTERS.astype(object), "multiclass", [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]]),
        (LETTERS, "ordinal", [[1, 0], [0, 0], [1, 1], [0, 0]]),
        ([[0, 1], [1, 1]], "multilabel", [[0, 1], [1, 1]]),
        (sparse.csr_array([[0, 1], [1, 1]]), "multilabel", [[0, 1], [1, 1]]),
    ],
)
def test_encoding(y, task: str, expected: list):
    outputs, found = encode(y, task)
    assert found == task
    assert outputs.dtype == np.float64
    np.testing.assert_array_equal(outputs, expected)


def test_centred_under_the_weights():
    raw, weights = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 0.0]]), np.array([0.5, 0.25, 0.25])
    target = centre(raw, "regression", weights)
    np.testing.assert_allclose(weights @ target.outputs, 0, atol=1e-15)
    np.testing.assert_allclose(target.outputs, raw - [2.5, 0.5])
    assert target.variance == pytest.approx(2.75 + 0.75)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
def test_target_that_does_not_vary_is_refused(value: float):
    with pytest.raises(ValueError, match="y has only one value"):
        centre(np.full((7, 1), value), "regression", np.full(7, 1 / 7))


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        ([0, 1], "clustering", r"task='clustering' is unknown: use one of \['auto', 'regression'"),
        (np.zeros((2, 2, 2)), "auto", "y has 3 dimensions"),
        (np.array([1j, 2j]), "auto", "y is complex"),
        ([0.0, np.nan, 0.5], "auto", "y contains NaN"),
        ([0.0, np.inf, 0.5], "regression", "y contains infinity"),
        ([[0.0, np.nan]], "regression", "y contains NaN"),
        ([0.0, np.nan], "multiclass", "y contains NaN"),
        (np.array(["a", None], dtype=object), "auto", "y contains NaN or None"),
        (np.array(["a", 1], dtype=object), "auto", "y mixes labels"),
        (["a", "b"], "regression", "cannot be used with task='regression'"),
        ([0, 1, 2], "binary", "y has 3 classes but task='binary': use task='multiclass'"),
        ([[0, 1], [1, 0]], "binary", "y has 2 columns but task='binary' takes one"),
        ([[0, 1], [1, 0]], "multiclass", "y has 2 columns but task='multiclass' takes one"),
        ([[0, 1], [1, 0]], "ordinal", "y has 2 columns but task='ordinal' takes one"),
        ([[0, 2], [1, 0]], "multilabel", "y is not a table of zeros and ones"),
        ([0, 1], "multilabel", "y is not a table of zeros and ones"),
    ],
)
def test_wrong_targets_are_refused(y, task: str, message: str):
    with pytest.raises(ValueError, match=message):
        encode(y, task)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([0.5, 1.5, 3.0], "regression"),
        ([[0.5, 1.0], [1.5, 0.0], [3.0, 7.0]], "regression"),
        (["a", "b", "b"], "binary"),
        ([0, 1, 2], "multiclass"),
        ([0, 1, 2], "ordinal"),
        ([[0, 1], [1, 1], [1, 0]], "multilabel"),
    ],
)
def test_targets_in_parts_are_encoded_as_one(y, task: str):
    y = np.asarray(y)
    encoding = Encoding.of(y, task)
    expected, _ = encode(y, task)
    np.testing.assert_array_equal(np.concatenate([encoding(y[:2]), encoding(y[2:])]), expected)
    assert encoding == Encoding.of(y[::-1], task)


@pytest.mark.parametrize("first", [2**53, 2**60, 2**63, -(2**62), 2**70])
@pytest.mark.parametrize("task", ["auto", "multiclass"])
@pytest.mark.parametrize("kind", [np.asarray, lambda y: np.array(y, dtype=object)])
def test_large_class_numbers_stay_apart(kind, task: str, first: int):
    y = [first + i % 3 for i in range(60)]
    outputs, found = encode(kind(y), task)
    assert found == "multiclass"
    np.testing.assert_array_equal(outputs, np.tile(np.eye(3), (20, 1)))


@pytest.mark.parametrize("task", ["auto", "multiclass"])
def test_large_class_numbers_as_floats_are_refused(task: str):
    y = np.array([2.0**60, 2.0**60 + 256] * 10)
    with pytest.raises(ValueError, match=r"y holds classes of up to 1.15.* not exact above 2\^53"):
        encode(y, task)
    assert encode(y, "regression")[1] == "regression"


def test_classes_given_decide_the_task():
    encoding = Encoding.of(["b", "b"], "auto", classes=["c", "a", "b"])
    assert encoding.task == "multiclass"
    np.testing.assert_array_equal(encoding(["b"]), [[0, 1, 0]])
    with pytest.raises(ValueError, match="y contains 'd', which is not among the classes"):
        encoding(["a", "d"])


@pytest.mark.parametrize("count", [1, 3, 9])
def test_two_classes_are_told_apart(count: int):
    raw, weights = (np.arange(10) < count).astype(float)[:, None], np.arange(1, 11) / 55
    outputs = to_one_variance(centre(raw, "binary", weights).outputs, weights)
    outputs, classes = stratified(outputs, "binary")
    np.testing.assert_array_equal(outputs, 2 * raw - 1)
    np.testing.assert_array_equal(classes, raw[:, 0])


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_other_targets_are_one_class(task: str):
    outputs = np.array([[0.5, -1.0], [-0.5, 1.0]])
    found, classes = stratified(outputs, task)
    assert found is outputs
    assert classes == 0
