import numpy as np

from featgrad import Learnability
from featgrad.report import summarise


def test_best_feature_first_and_both_estimates_below():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    data = Learnability(X, X[:, 0] + 3 * X[:, 2] + rng.standard_normal(200))
    lines = summarise(data, [0, 2], ["weak", "a strong one"]).splitlines()
    assert [line.split("  ")[0] for line in lines[2:4]] == ["a strong one", "weak"]
    assert lines[-2] == f"explained by these 2 features: {data.estimate([0, 2])}"
    assert lines[-1] == f"explained by all 4 features:   {data.estimate()}"


def test_a_group_has_one_row_that_names_its_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    data = Learnability(X, X.sum(axis=1) + rng.standard_normal(200))
    groups = ["one", "many", "many", "many", "many"]
    lines = summarise(data, np.arange(5), list("abcde"), groups).splitlines()
    one, _, _, _, many = data.gains(np.arange(5), groups)
    assert lines[2:4] == [
        f"many (b, c, d, ...)  {100 * many:4.1f}%",
        f"one (a)              {100 * one:4.1f}%",
    ]


def test_gains_are_in_per_cent_of_the_variance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    data = Learnability(X, X.sum(axis=1) + 0.1 * rng.standard_normal(200))
    first = summarise(data, [0], ["a"]).splitlines()[2]
    assert first == f"a        {100 * data.gains([0])[0]:4.1f}%"
