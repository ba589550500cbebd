"""Fits on a device: torch's CPU where there is no accelerator."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import mixed_columns
from device_builders import a_device
from featgrad import FeatureGradientSelector, MiniBatch, open_source
from featgrad.checks import check_weights
from featgrad.dataset.memory import distinct_rows
from golden_shapes import planted, sparse_planted, three_classes, two_classes


@pytest.fixture
def device() -> str:
    return str(a_device())


def both(device: str, X, y, k, sample_weight=None, **options):
    """What is chosen on the host and on the device."""
    return [
        FeatureGradientSelector(k, random_state=0, device=where, **options).fit(X, y, sample_weight)
        for where in (None, device)
    ]


TARGETS = {
    "numbers": lambda y: y,
    "two classes": two_classes,
    "three classes": three_classes,
    "two outputs": lambda y: np.column_stack([y, np.roll(y, 1)]),
}


@pytest.mark.parametrize("shape", [(400, 30), (150, 700)])
@pytest.mark.parametrize("target", TARGETS)
def test_the_same_sets_as_on_the_host(device, target: str, shape):
    X, y = planted(*shape, 4)
    here, there = both(device, X, TARGETS[target](y), 4, path_sizes=[1, 2])
    for one, other in zip(here.path_, there.path_, strict=True):
        np.testing.assert_array_equal(one.features, other.features)
        assert other.learnability.value == pytest.approx(one.learnability.value, rel=1e-3)
    assert "on an accelerator" in str(there.plan_)


@pytest.mark.parametrize("search", ["auto", MiniBatch(penalty=1.0)])
def test_sizes_that_are_not_given(device, search):
    here, there = both(device, *planted(500, 20, 3), "auto", search=search)
    np.testing.assert_array_equal(there.get_support(), here.get_support())


def test_sparse_columns(device):
    here, there = both(device, *sparse_planted(600, 1000, 8, 0.1), 8)
    np.testing.assert_array_equal(there.get_support(), here.get_support())
    assert there.learnability_.value == pytest.approx(here.learnability_.value, rel=1e-3)


def test_large_sets(device):
    here, there = both(device, *planted(200, 600, 3), 100, search=MiniBatch())
    np.testing.assert_allclose(there.scores_, here.scores_, rtol=1e-3, atol=1e-4)


def test_weights_and_missing_entries(device):
    X, Y, weight = mixed_columns(300, 20)
    weight[::5] = 0
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    here, there = both(device, X, Y[:, 0], 2, weight, missing="mean")
    np.testing.assert_array_equal(there.get_support(), here.get_support())


def test_blocks_of_a_matrix_that_does_not_fit(device, monkeypatch):
    X, y = planted(300, 40, 3)
    whole = FeatureGradientSelector(3, device=device, random_state=0).fit(X, y)
    monkeypatch.setattr("featgrad.plan.DEVICE_SHARE", 0.0)
    monkeypatch.setattr("featgrad.dataset.device.free_bytes", lambda device: 1e9)
    monkeypatch.setattr("featgrad.dataset.device._SENT_ENTRIES", 70 * 40)
    parts = FeatureGradientSelector(3, device=device, random_state=0).fit(X, y)
    np.testing.assert_allclose(parts.scores_, whole.scores_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("copies", [False, True])
def test_rows_are_ordered_as_on_the_host(copies: bool, is_sparse: bool):
    device = a_device()
    from featgrad.dataset.device import DenseMatrix, SparseMatrix

    X, Y, weight = mixed_columns(60, 8)
    if copies:
        X, Y, weight = (np.concatenate([part, part[:20]]) for part in (X, Y, weight))
    weight[3] = 0
    X = sparse.csr_array(X) if is_sparse else X
    weights = check_weights(weight, len(Y))
    matrix = SparseMatrix(X, device) if is_sparse else DenseMatrix(X, device, is_resident=True)
    expected, found = (
        distinct_rows(rows, Y, weights, np.random.RandomState(0)) for rows in (X, matrix)
    )
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(("entry", "message"), [(np.nan, "contains NaN"), (np.inf, "infinity")])
def test_entries_that_are_no_numbers_are_refused(device, entry: float, message: str):
    X, y = planted(50, 5, 2)
    X[3, 1] = entry
    with pytest.raises(ValueError, match=message):
        FeatureGradientSelector(2, device=device, missing="error").fit(X, y)


def test_a_device_that_is_not_there_is_refused():
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="device='no such device' cannot be used: torch says"):
        FeatureGradientSelector(2, device="no such device").fit(*planted(50, 5, 2))


@pytest.mark.skipif(
    find_spec("sklearn.externals.array_api_compat") is None,
    reason="what comes with scikit-learn from 1.7 on asks for torch without an import of it",
)
def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("featgrad.dataset.device")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'featgrad\[gpu\]'"):
        FeatureGradientSelector(2, device="cuda").fit(*planted(50, 5, 2))


def test_rows_on_the_host_alone_take_no_device():
    X, y = planted(50, 5, 2)
    selector = FeatureGradientSelector(2, device="cuda")
    with pytest.raises(ValueError, match="device='cuda' is for fit, and partial_fit takes rows"):
        selector.partial_fit(X, y)
    with pytest.raises(ValueError, match="device='cuda' is for fit, and fit_source takes rows"):
        selector.fit_source(open_source(X, target=y))


def test_small_arrays_on_an_accelerator_are_copied_to_the_host(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("featgrad.variables.on_accelerator", torch.is_tensor)
    X, y = planted(120, 12, 3)
    for limit, rows in ((120 * 12, "in memory"), (120 * 12 - 1, "on an accelerator")):
        monkeypatch.setattr("featgrad.plan.HOST_ENTRIES", limit)
        selector = FeatureGradientSelector(3, random_state=0).fit(torch.asarray(X), y)
        assert f"{rows}, 120 x 12" in str(selector.plan_)
