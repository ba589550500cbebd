"""Tables as people have them: what is chosen are their columns, whatever these hold."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from featgrad import FeatureGradientSelector, Knockoffs, open_source
from featgrad.report import summarise

N_ROWS = 800
FRAMES = {
    "pandas": lambda frame: frame,
    "pyarrow dtypes": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "nullable dtypes": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
CHOSEN = ["sex", "town", "when", "income"]


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Classes that depend on text, categories, weekdays, and on what is missing."""
    rng = np.random.default_rng(0)
    sex, town = rng.choice(["m", "f"], N_ROWS), rng.choice(["Rome", "Oslo", "Bonn"], N_ROWS)
    days = rng.integers(0, 700, N_ROWS)
    logit = 2.0 * (sex == "f") + 1.5 * (town == "Oslo") + 2.0 * (days % 7 >= 5) - 2
    y = np.where(logit + rng.logistic(size=N_ROWS) > 0, "yes", "no")
    income = rng.normal(size=N_ROWS)
    income[(y == "yes") & (rng.random(N_ROWS) < 0.5)] = np.nan
    frame = pd.DataFrame(
        {
            "sex": sex,
            "town": pd.Categorical(town),
            "age": rng.normal(40, 10, N_ROWS),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D"),
            "income": income,
            "name": [f"p{i}" for i in range(N_ROWS)],
            "ok": rng.random(N_ROWS) < 0.5,
        }
    )
    return frame, y


def fitted(X, y, k=4, **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(k, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_taken_as_it_is(table, kind: str):
    frame, y = table
    selector = fitted(FRAMES[kind](frame), y)
    assert selector.get_feature_names_out().tolist() == CHOSEN
    assert selector.n_features_in_ == frame.shape[1] == len(selector.scores_)
    assert selector.path_[0].size == 4 == len(selector.path_[0].gains.values)
    assert selector.learnability_.n_features == 4


@pytest.mark.parametrize("kind", FRAMES)
def test_transform_gives_the_columns_of_the_frame(table, kind: str):
    frame, y = table
    X = FRAMES[kind](frame)
    found = fitted(X, y, estimate=False).transform(X)
    assert type(found) is type(X)
    assert list(getattr(found, "column_names", None) or found.columns) == CHOSEN


def test_a_file_a_source_and_a_frame_lead_to_the_same_columns(table, tmp_path):
    frame, y = table
    frame.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    for data in (frame.assign(y=y), tmp_path / "table.csv"):
        source = open_source(data, target="y", dtype="float64")
        selector = FeatureGradientSelector(4, random_state=0).fit_source(source)
        assert selector.get_feature_names_out().tolist() == CHOSEN


def test_chunks_of_a_frame_lead_to_the_same_columns(table):
    frame, y = table
    selector = FeatureGradientSelector(4, random_state=0)
    for start in range(0, N_ROWS, 200):
        rows = slice(start, start + 200)
        selector.partial_fit(frame.iloc[rows], y[rows])
    assert selector.finalize().get_feature_names_out().tolist() == CHOSEN


def test_the_order_of_columns_and_their_names_decide_nothing(table):
    frame, y = table
    mixed = frame[frame.columns[::-1]].rename(columns=str.upper)
    assert [*fitted(mixed, y).get_feature_names_out()] == [name.upper() for name in CHOSEN[::-1]]


def test_an_identifier_is_never_chosen_unless_it_is_kept(table):
    frame, y = table
    selector = fitted(frame, y, 6, estimate=False)
    assert "name" not in selector.get_feature_names_out()
    assert selector.ranking_[5] == 7
    kept = fitted(frame, y, 2, keep=["name"], estimate=False)
    assert "name" in kept.get_feature_names_out()


def test_the_plan_says_what_was_made_of_columns(table):
    frame, y = table
    plan = str(fitted(frame, y, estimate=False).plan_)
    assert "7 variables as 18 columns" in plan
    assert "name (left out, 800 different texts in 800 rows)" in plan


def test_groups_and_costs_are_those_of_columns(table):
    frame, y = table
    together = fitted(frame, y, 4, feature_groups=[["sex", "town"]], estimate=False)
    assert [*together.get_feature_names_out()] == CHOSEN
    cheap = FeatureGradientSelector(max_cost=2, costs={"sex": 9}, random_state=0, estimate=False)
    assert "sex" not in cheap.fit(frame, y).get_feature_names_out()


def test_pipelines_transformers_and_pickles_take_frames(table):
    frame, y = table
    model = HistGradientBoostingClassifier(categorical_features="from_dtype")
    typed = frame.assign(sex=frame["sex"].astype("category"), when=frame["when"].astype("int64"))
    pipeline = make_pipeline(FeatureGradientSelector(4, random_state=0, estimate=False), model)
    assert pipeline.fit(typed[:600], y[:600]).score(typed[600:], y[600:]) > 0.7
    selector = pickle.loads(pickle.dumps(fitted(frame, y, estimate=False)))
    assert [*selector.set_output(transform="pandas").transform(frame).columns] == CHOSEN
    both = ColumnTransformer(
        [
            ("one", FeatureGradientSelector(1, estimate=False), ["sex", "ok"]),
            ("age", "passthrough", ["age"]),
        ]
    ).set_output(transform="pandas")
    assert [*both.fit_transform(frame, y).columns] == ["one__sex", "age__age"]


def test_knockoffs_and_halves_of_the_rows_name_columns(table):
    frame, y = table
    selector = FeatureGradientSelector(search=Knockoffs(0.2), random_state=0).fit(frame, y)
    assert {"sex", "income"} <= {*selector.get_feature_names_out()}
    assert len(selector.discoveries_.statistics) == frame.shape[1]
    halves = fitted(frame, y, n_resamples=2)
    assert halves.stability_.frequencies[[0, 4]].tolist() == [1, 1]


def test_a_summary_has_a_row_for_each_column(table):
    frame, y = table
    text = summarise(fitted(frame, y), frame, y)
    assert sorted(line.split()[0] for line in text.splitlines()[2:6]) == sorted(CHOSEN)
    assert "explained by all 7 features" in text


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_that_values_are_missing_can_be_all_that_a_column_says(container):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(600, 6)), rng.integers(0, 2, 600)
    X[(y == 1) & (rng.random(600) < 0.8), 3] = np.nan
    selector = fitted(container(X), y, 1)
    assert selector.get_support(indices=True).tolist() == [3]
    # The best possible: class 0 is never missing, class 1 in 80 of 100 rows.
    assert selector.score_.value > 0.9 * 0.9
    assert selector.transform(container(X)).shape == (600, 1)


def test_values_that_are_missing_by_chance_add_no_columns():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 40)), rng.normal(size=300)
    X[rng.random(X.shape) < 0.2] = np.nan
    assert fitted(X, y, 3, estimate=False)._layout is None


def test_missing_values_are_refused_on_request(table):
    frame, y = table
    with pytest.raises(ValueError, match="missing='mean'"):
        fitted(frame, y, missing="error")


def test_a_column_that_cannot_be_read_is_named(table):
    frame, y = table
    odd = pl.from_pandas(frame).with_columns(pl.Series("lists", [[1, 2]] * N_ROWS))
    with pytest.raises(ValueError, match=r"column 'lists' holds List.*exclude"):
        fitted(odd, y)
    assert fitted(odd, y, exclude=["lists"], estimate=False).n_features_ == 4


@pytest.mark.parametrize("task", ["regression", "binary"])
@pytest.mark.parametrize("n_levels", [5, 30, 100])
def test_texts_of_noise_come_after_numbers_that_matter(task: str, n_levels: int):
    n_found = n_noise = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.standard_normal((300, 6)), columns=list("abcdef"))
        y = table[list("abc")] @ [1.0, 0.7, 0.5] + 1.2 * rng.standard_normal(300)
        y = np.where(y > 0, "yes", "no") if task == "binary" else y
        for j in range(5):
            table[f"text {j}"] = np.char.add("w", rng.integers(0, n_levels, 300).astype(str))
        three = FeatureGradientSelector(3, estimate=False, random_state=seed).fit(table, y)
        n_found += np.isin(three.get_feature_names_out(), list("abc")).sum()
        auto = FeatureGradientSelector(random_state=seed, estimate=False).fit(table, y)
        n_noise += sum(name.startswith("text") for name in auto.get_feature_names_out())
    assert n_found >= 17
    assert n_noise <= 1


def test_a_constant_column_comes_last():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((200, 3)), columns=list("abc"))
    y = table["a"] + rng.standard_normal(200)
    table["constant"], table["text"] = 1.0, np.char.add("w", rng.integers(0, 30, 200).astype(str))
    assert fitted(table, y, 3, estimate=False).get_feature_names_out().tolist() == list("abc")
