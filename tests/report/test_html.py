import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from fact_builders import facts, many_facts

from featgrad import Concern, Estimate, FeatureGradientSelector
from featgrad.estimates.estimate import unknown
from featgrad.report import gather_facts, write_report
from featgrad.report.html import render
from featgrad.report.pages import draw_curve

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


def test_the_curve_has_no_line_for_all_where_that_is_unknown():
    known, not_known = (
        draw_curve(facts(list("abcd")).path, 1, estimate)
        for estimate in (Estimate(0.9, 0.1, 4), unknown(4))
    )
    # One line is the legend's.
    assert known.count('class="everything"') == 2
    assert not_known.count('class="everything"') == 1
    assert "all 4: unknown" in not_known


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
    assert "<h2>Redundancy</h2>" in render(facts(list("abcd")))
    assert "<h2>Redundancy</h2>" not in render(facts(list("abcd"), redundancy=None))


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


@pytest.mark.parametrize(("sizes", "names"), [((1, 2, 4), 4), ((1, 50, 100_000), 100_000)])
def test_no_letters_of_the_curve_leave_it_or_meet(sizes, names):
    made = many_facts(sizes[-1])
    curve = draw_curve(facts(["a"] * names, sizes).path, 1, made.everything)
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', curve).groups())
    boxes = []
    for x, y, anchor, text in re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)"(?: text-anchor="(\w+)")?>([^<]*)<', curve
    ):
        length = 11 * len(text)
        left = float(x) - {"end": length, "middle": length / 2}.get(anchor, 0)
        boxes.append((left, left + length, float(y) - 16, float(y)))
        assert left >= 0
        assert left + length <= width
        assert float(y) >= 16
        assert float(y) <= height
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = (
                one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
            )
            assert apart


def test_nothing_is_fetched():
    assert not re.search(r"(src|href)=|url\(|@import", render(facts(list("abcd"))))


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
    page = unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^<]*</iframe>',
                                 shown)[1])  # fmt: skip
    assert page == render(facts(list("abcd")))


@pytest.mark.parametrize("n_rows", [2, 3, 5, 20])
def test_what_few_rows_leave_unknown_is_called_so(n_rows):
    X = np.random.default_rng(0).standard_normal((n_rows, 3))
    y = X[:, 0] + X[:, 1]
    selector = FeatureGradientSelector(2, path_sizes=[1, 2], random_state=0).fit(X, y)
    page = render(gather_facts(selector, X, y))
    assert "nan" not in re.findall(r"\w+", page)
    if n_rows == 2:
        assert "<td>2</td><td>unknown</td>" in page
