import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from fact_builders import facts, many_facts

from featgrad import Concern, Estimate, FeatureGradientSelector
from featgrad.estimates.estimate import Score, unknown
from featgrad.report import gather_facts, write_report
from featgrad.report.html import render

EVIL = '<script>alert(1)</script>"&\u2028\u202e\x1b'


def embedded(page: str) -> dict:
    text = re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(text)


def evil_facts():
    """Of real data, whose names and texts are all evil: of features, groups and the target."""
    X = np.repeat(np.eye(2), 20, axis=0)
    X = np.column_stack([X, np.random.default_rng(0).standard_normal((40, 2))])
    y = X[:, 0] + X[:, 2]
    names, groups = [EVIL, "</script>", "<!--", "plain"], [EVIL, EVIL, "b", "c"]
    selector = FeatureGradientSelector(3, feature_groups=groups, random_state=0).fit(X, y)
    texts = {"target": EVIL, "about": {EVIL: EVIL}, "command": EVIL}
    return gather_facts(selector, X, y, names=names, **texts)


def test_names_survive_embedding():
    data, shown = embedded(render(evil_facts())), EVIL[:-3] + r"\u2028\u202e\u001b"
    assert data["names"] == [shown, "</script>", "<!--", "plain"]
    assert data["groups"] == [{"name": shown, "features": [0, 1]}]
    assert data["series"] == [f"mean of {shown}"]
    assert {shown, "</script>"} == set(data["profiles"]["0"]["bins"])


def test_text_of_data_is_escaped():
    assert not re.search("<script>alert|[\u2028\u202e\x1b]", render(evil_facts()))


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {EVIL: EVIL}},
        {"data": {EVIL: EVIL}},
        {"provenance": {EVIL: EVIL}},
        {"concerns": (Concern("leak", EVIL, EVIL, EVIL),)},
        {"names": [EVIL, "b", "c", "d"]},
        {"target": EVIL},
        {"search": {EVIL: EVIL}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_text_is_escaped_wherever_it_enters(changes):
    page = render(facts(**({"names": list("abcd")} | changes)))
    assert not re.search("<script>alert|[\u2028\u202e\x1b]", page)


def test_sets_are_stored_by_what_they_add_and_drop():
    sizes = embedded(render(facts(list("abcd"))))["sizes"]
    assert [size["added"] for size in sizes] == [[0], [1], [2, 3]]
    assert [size["dropped"] for size in sizes] == [[], [], []]


def test_what_is_unknown_has_no_value_for_the_curve():
    made = facts(list("abcd"))
    path = (*made.path[:-1], made.path[-1]._replace(learnability=unknown(4)))
    data = embedded(render(replace(made, path=path, everything=unknown(4))))
    assert [one["value"] for one in data["estimates"]] == [0.5, pytest.approx(2 / 3), None]
    assert data["everything"] == {"value": None, "text": "unknown"}


def tiles(made) -> dict[str, tuple[str, str]]:
    found = re.findall(r"'title'>(.*?)<.*?'value'>(.*?)<.*?'text'>(.*?)<", render(made))
    return {title: (value, text) for title, value, text in found}


def test_tiles_say_what_matters_most():
    leak = Concern("leak", "Possible leak", "x", "y")
    path = facts(list("abcd")).path
    scored = tuple(point._replace(score=Score("R2", 0.5, 0.021)) for point in path)
    assert tiles(facts(list("abcd"), path=scored, concerns=(leak,))) == {
        "Explained": ("66.7%", "62.7% to 70.6%"),
        "Predicted (R²)": ("50.0%", "± 2.1, held-out rows"),
        "Features": ("2 of 4", "2 suffice, 4 is best"),
        "Warnings": ("1", "possible leak"),
    }
    assert tiles(facts(list("abcd")))["Warnings"] == ("none", "")


def test_drift_is_a_warning_only_where_rows_are_known_to_be_in_order():
    drift = (Concern("drift", "Drift", "x", "y"),)
    assert tiles(facts(list("abcd"), concerns=drift))["Warnings"] == ("none", "")
    assert "<b>Drift.</b>" in render(facts(list("abcd"), concerns=drift))
    in_time = facts(list("abcd"), concerns=drift, is_in_time=True)
    assert tiles(in_time)["Warnings"] == ("1", "drift")


def test_a_single_size_can_be_drawn():
    assert 'max="0"' in render(facts(list("abcd"), sizes=(2,), chosen=0))


def test_target_is_in_the_title_where_it_has_a_name():
    assert "<title>price: 2 of 4 features · featgrad</title>" in render(facts(list("abcd")))
    assert "<h1>2 of 4 features</h1>" in render(facts(list("abcd"), target=None))


def test_profiles_share_one_scale():
    data = embedded(render(facts(list("abcd"))))
    assert data["profiles"]["0"]["means"][0] == [round(10_000 * 0.01 / 0.32)]
    assert data["profiles"]["0"]["means"][2] is None
    assert data["range"] == ["0.09", "0.41"]


def test_one_feature_needs_no_heat_map():
    assert embedded(render(facts(list("abcd"))))["redundancy"]["replaced_by"] == [-1, 0, -1]
    assert embedded(render(facts(list("abcd"), redundancy=None)))["redundancy"] is None


@pytest.mark.parametrize(
    ("estimate", "origin"),
    [
        (Estimate(0.5, 0.1, 2), "estimated from rows that had no part in choosing"),
        (Estimate(0.5, 0.1, 2, is_optimistic=True), "estimated from the rows that chose"),
        (unknown(2), "There are too few rows to say"),
    ],
)
def test_figures_say_which_rows_they_come_from(estimate, origin):
    made = facts(list("abcd"))
    path = tuple(point._replace(learnability=estimate) for point in made.path)
    page = render(replace(made, path=path))
    assert origin in page
    assert page.count("had no part in choosing") == (
        2 if origin.startswith("estimated from rows") else 0
    )


def test_nothing_is_fetched():
    # Links within the page are there, and pictures that its script has drawn are saved.
    page = render(facts(list("abcd")))
    assert not re.search(r"""(src|href)=(?!['"]#)|url\(|@import""", page)
    sources = re.search(r"default-src 'none'; style-src '\S+'; script-src '\S+'; (.*?)\"", page)[1]
    assert sources == "img-src data:"


def test_many_candidates_stay_small():
    assert len(render(many_facts(100_000)).encode()) < 5e6


def test_a_choice_of_nothing_is_called_so():
    page = render(facts(list("abcd"), sizes=(0, 1, 2), chosen=0))
    assert "No features were chosen. Of the variance of “price”, all candidates" in page


def test_same_facts_give_the_same_file(tmp_path):
    for name in ("one.html", "two.html"):
        write_report(facts(list("abcd")), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_nothing_is_left_behind_when_writing_fails(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_report(facts(list("abcd")), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_facts_show_themselves_in_a_frame_that_cannot_reach_the_notebook():
    shown = facts(list("abcd"))._repr_html_()
    frame = r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts allow-downloads"[^<]*</iframe>'
    page = unescape(re.fullmatch(frame, shown)[1])
    assert page == render(facts(list("abcd")))


@pytest.mark.parametrize("n_rows", [2, 3, 5, 20])
def test_what_few_rows_leave_unknown_is_called_so(n_rows):
    X = np.random.default_rng(0).standard_normal((n_rows, 3))
    y = X[:, 0] + X[:, 1]
    selector = FeatureGradientSelector(2, path_sizes=[1, 2], random_state=0).fit(X, y)
    page = render(gather_facts(selector, X, y))
    assert "nan" not in re.findall(r"\w+", page)
    if n_rows == 2:
        unknown = {"value": None, "text": "unknown", "score": None, "r2": None}
        assert embedded(page)["estimates"][1] == unknown
