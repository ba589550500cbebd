import json
import re

import numpy as np
import pytest
from fact_builders import facts, many_facts

from featgrad.report import write_report
from featgrad.report.facts import Concern, Group
from featgrad.report.html import render

EVIL = '<script>alert(1)</script>"&\u2028\u202e\x1b'


def embedded(page: str) -> dict:
    text = re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(text)


def test_names_survive_embedding():
    names = [EVIL, "</script>", "<!--", "plain"]
    shown = [EVIL[:-3] + r"\u2028\u202e\u001b", *names[1:]]
    assert embedded(render(facts(names)))["names"] == shown


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {EVIL: EVIL}},
        {"data": {EVIL: EVIL}},
        {"provenance": {EVIL: EVIL}},
        {"concerns": (Concern(EVIL, EVIL),)},
        {"groups": (Group(EVIL, np.arange(2)),)},
        {"names": [EVIL, "b", "c", "d"]},
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


def test_a_single_size_can_be_drawn():
    assert 'max="0"' in render(facts(list("abcd"), sizes=(2,), chosen=0))


def test_groups_have_a_table_of_their_own_where_there_are_any():
    page = render(facts(list("abcd"), groups=(Group("one", np.arange(2)),)))
    assert embedded(page)["groups"] == [{"name": "one", "features": [0, 1]}]
    assert "id='groups'" in page
    assert "id='groups'" not in render(facts(list("abcd")))


def test_nothing_is_fetched():
    assert not re.search(r"(src|href)=|url\(|@import", render(facts(list("abcd"))))


def test_many_candidates_stay_small():
    assert len(render(many_facts(100_000)).encode()) < 5e6


def test_same_facts_give_the_same_file(tmp_path):
    for name in ("one.html", "two.html"):
        write_report(facts(list("abcd")), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_nothing_is_left_behind_when_writing_fails(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_report(facts(list("abcd")), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
