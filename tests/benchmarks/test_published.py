import numpy as np
from benchmarks.helpers.published.sets import PLACEHOLDER, filled_by_class
from benchmarks.helpers.published.summary import markdown
from benchmarks.helpers.published.tables import LASSONET, TABLES


def test_the_papers_filling_counts_the_placeholder_and_stays_in_the_class():
    X = np.array([[1.0], [np.nan], [3.0], [5.0]])
    filled = filled_by_class(X, np.array([0, 0, 0, 1]))
    assert filled[:, 0].tolist() == [1, (1 + PLACEHOLDER + 3) / 3, 3, 5]


def test_our_figure_stands_next_to_the_papers():
    entry = {"table": "LassoNet", "set": "MNIST", "selector": "anova", "accuracies": [0.8, 0.9]}
    page = markdown(TABLES, [entry], ["anova", "featgrad"])
    assert "| MNIST | 0.941 | 0.818 | 0.869 | 0.879 | 0.892 | 0.850 | - |" in page
    assert "## Sequential Attention" not in page


def test_every_published_row_is_one_of_the_paper():
    for table in TABLES:
        assert {case.published for case in table.cases} - {None} == set(table.figures)
    assert any(case.published is None for case in LASSONET.cases)
