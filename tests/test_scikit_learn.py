"""The selector among scikit-learn's tools: checks, names, containers, pipelines, callbacks."""

import pickle
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from featgrad import FeatureGradientSelector, MiniBatch, WorkingSet
from featgrad.plan import HELD_OUT_GROUPS


# Targets of these checks may be columns of X.
@pytest.mark.filterwarnings("ignore::featgrad.DataWarning")
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [FeatureGradientSelector(random_state=0), FeatureGradientSelector(0.5, missing="mean")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def planted() -> tuple[np.ndarray, np.ndarray]:
    """Columns 1 and 4 of six decide the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    return X, X[:, 1] - X[:, 4] + 0.1 * rng.standard_normal(50)


def two_features() -> FeatureGradientSelector:
    return FeatureGradientSelector(2, random_state=0)


NAMES = list("abcdef")


@pytest.fixture(params=["pandas", "polars"])
def frame(request: pytest.FixtureRequest, planted):
    """The same with mixed types: b whole numbers, e single precision, a booleans."""
    columns = dict(zip(NAMES, planted[0].T, strict=True))
    columns["a"] = columns["a"] > 0
    columns["b"] = np.round(10 * columns["b"]).astype(np.int64)
    columns["e"] = columns["e"].astype(np.float32)
    build = pd.DataFrame if request.param == "pandas" else pl.DataFrame
    return request.param, build(columns)


def test_names_out_of_a_dataframe(frame, planted):
    selector = two_features().fit(frame[1], planted[1])
    assert selector.feature_names_in_.tolist() == NAMES
    assert selector.get_feature_names_out().tolist() == ["b", "e"]


def test_names_out_of_an_array(planted):
    selector = two_features().fit(*planted)
    assert not hasattr(selector, "feature_names_in_")
    assert selector.get_feature_names_out().tolist() == ["x1", "x4"]


def test_output_container_keeps_names_and_types(frame, planted):
    container, X = frame
    selector = FeatureGradientSelector(3).set_output(transform=container).fit(X, planted[1])
    out = selector.transform(X)
    kept = selector.get_feature_names_out().tolist()
    assert type(out) is type(X)
    assert {"b", "e"} < set(kept)
    assert list(out.columns) == kept
    assert list(out.dtypes) == [X[name].dtype for name in kept]
    assert out.equals(X[kept])


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_output_container_of_an_array(container: str, planted):
    selector = two_features().set_output(transform=container)
    out = selector.fit_transform(*planted)
    assert list(out.columns) == ["x1", "x4"]
    np.testing.assert_array_equal(out.to_numpy(), planted[0][:, [1, 4]])


def test_polars_columns_in_another_order_are_refused(planted):
    X = pl.DataFrame(planted[0], schema=NAMES)
    selector = two_features().set_output(transform="polars").fit(X, planted[1])
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(X[NAMES[::-1]])


def test_without_container_a_frame_comes_out_as_an_array(frame, planted):
    out = two_features().fit(frame[1], planted[1]).transform(frame[1])
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, frame[1][["b", "e"]].to_numpy())


def test_inverse_transform_fills_with_zeros(planted):
    selector = two_features().fit(*planted)
    back = selector.inverse_transform(selector.transform(planted[0]))
    np.testing.assert_array_equal(back, planted[0] * [0, 1, 0, 0, 1, 0])


def test_clone_keeps_every_parameter():
    parameters = {
        "n_features_to_select": 3,
        "min_features_to_select": 2,
        "path_sizes": [2, 4],
        "feature_groups": [[0, 1]],
        "keep": [0],
        "exclude": [5],
        "costs": {1: 2.0},
        "max_cost": 4.0,
        "n_resamples": 2,
        "cv": 3,
        "estimate": False,
        "task": "regression",
        "preprocess": "center",
        "missing": "mean",
        "device": "cuda",
        "random_state": 1,
        "verbose": 4,
    }
    search = MiniBatch(
        penalty=2.0,
        link="probit",
        learning_rate=0.2,
        batch_size=11,
        accumulate=2,
        n_epochs=3,
        max_iter=7,
        tol=0.1,
        order=5,
        filter="chebyshev",
    )
    selector = FeatureGradientSelector(**parameters, search=search)
    of_search = {f"search__{name}": value for name, value in search.get_params().items()}
    found = clone(selector).get_params()
    assert found.pop("search") is not search
    assert found == parameters | of_search
    assert len(selector.get_params(deep=False)) <= 18


def _through_pickle(selector):
    return pickle.loads(pickle.dumps(selector))


def _through_skops(selector):
    stored = skops.io.dumps(selector)
    return skops.io.loads(stored, trusted=skops.io.get_untrusted_types(data=stored))


@pytest.mark.parametrize("round_trip", [_through_pickle, _through_skops])
@pytest.mark.parametrize("k", ["auto", 2])
def test_stored_selector_comes_back_fitted(round_trip, k: int | str, planted):
    selector = FeatureGradientSelector(k, random_state=0).fit(*planted)
    back = round_trip(selector)
    np.testing.assert_array_equal(back.transform(planted[0]), selector.transform(planted[0]))
    assert back.learnability_ == selector.learnability_
    np.testing.assert_array_equal(back.ranking_, selector.ranking_)


def test_skops_needs_trust_in_this_package_only(planted):
    stored = skops.io.dumps(two_features().fit(*planted))
    untrusted = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith("featgrad.") for name in untrusted)


def test_grid_search_over_the_number_of_features():
    X, y = make_regression(200, 10, n_informative=3, noise=5.0, random_state=0)
    pipeline = make_pipeline(FeatureGradientSelector(random_state=0), LinearRegression())
    grid = {"featuregradientselector__n_features_to_select": [1, 3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"featuregradientselector__n_features_to_select": 3}
    assert search.best_estimator_[:-1].transform(X).shape == (200, 3)


needs_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn has callbacks from 1.9 on"
)


class Recorder:
    """A callback that notes what it is told, and stops after some steps if asked to."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.events: list[str] = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name}")
        return self.events.count("end step") == self.stop_after


@needs_callbacks
@pytest.mark.parametrize(
    ("options", "searches"),
    [
        ({"search": MiniBatch(penalty=1.0, max_iter=3)}, 1),
        ({"n_features_to_select": 2, "search": WorkingSet(max_iter=3)}, 1 + HELD_OUT_GROUPS),
        ({"n_features_to_select": 2, "search": WorkingSet(max_iter=3), "estimate": False}, 1),
    ],
)
def test_callbacks_hear_of_every_step(options: dict, searches: int, planted):
    recorder = Recorder()
    FeatureGradientSelector(**options).set_callbacks(recorder).fit(*planted)
    steps = 3 * searches * ["begin step", "end step"]
    assert recorder.events == ["setup", "begin fit", *steps, "end fit", "teardown"]


@pytest.mark.parametrize(
    "options", [{"search": MiniBatch(penalty=1.0)}, {"n_features_to_select": 2}]
)
def test_callback_can_stop_the_search(options: dict, planted):
    selector = (
        FeatureGradientSelector(**options).set_callbacks(Recorder(stop_after=4)).fit(*planted)
    )
    assert selector.n_iter_ == 4
    assert selector.transform(planted[0]).shape[1] == selector.n_features_


@needs_callbacks
def test_callbacks_are_torn_down_after_a_failure(planted):
    recorder = Recorder()
    selector = FeatureGradientSelector().set_callbacks(recorder)
    with pytest.raises(ValueError, match="y has only one value"):
        selector.fit(planted[0], np.zeros(len(planted[0])))
    assert recorder.events == ["setup", "begin fit", "teardown"]


@needs_callbacks
def test_scikit_learns_progress_bar(planted, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    FeatureGradientSelector(2).set_callbacks(ProgressBar()).fit(*planted)
    assert "FeatureGradientSelector" in capsys.readouterr().out
