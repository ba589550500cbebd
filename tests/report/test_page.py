"""The report in a real browser."""

from dataclasses import replace

import numpy as np
import pytest
from browser import PROGRAM, Browser
from fact_builders import facts, many_facts

from featgrad.report import write_report
from featgrad.report.facts import Group

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Chromium on this machine (Debian: apt install chromium)"
)

NAMES = ["<script>document.title='run'</script>", "beta", "gamma", "delta", "Alpha"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser, tmp_path):
    write_report(facts(NAMES), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    yield browser
    assert browser.errors == []


def names(page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('#features tbody th')].map(c => c.innerText)"
    )


def column(page, index: int) -> list[str]:
    cells = f"#features tbody td:nth-child({index})"
    return page.evaluate(f"[...document.querySelectorAll('{cells}')].map(c => c.innerText)")


def click(page, selector: str) -> None:
    page.evaluate(f"document.querySelector('{selector}').click()")


def test_names_are_shown_and_not_run(page):
    assert NAMES[0] in names(page)
    assert page.evaluate("document.title") == "featgrad: 2 of 5 features"


def test_an_injected_script_is_refused(browser, tmp_path):
    write_report(facts(NAMES), tmp_path / "report.html")
    text = (
        (tmp_path / "report.html").read_text().replace("<h1>", "<script>top.ran = 1</script><h1>")
    )
    (tmp_path / "report.html").write_text(text)
    browser.open(tmp_path / "report.html")
    assert browser.evaluate("top.ran === undefined")


def test_chosen_features_come_by_gain(page):
    assert names(page) == [NAMES[1], NAMES[0]]
    assert column(page, 2) == ["20.00 \u00b1 1.00", "10.00 \u00b1 1.00"]


def test_redundant_features_are_named(page):
    assert column(page, 5) == ["\u2013", "Alpha (0.98)"]


def test_a_head_sorts_and_turns_round(page):
    click(page, "#features thead button")
    assert names(page) == sorted(NAMES[:2])
    click(page, "#features thead button")
    assert names(page) == sorted(NAMES[:2], reverse=True)
    assert page.evaluate("document.querySelector('#features th').ariaSort") == "descending"


def test_find_ignores_case_and_shows_rejected_features_too(page):
    click(page, "#only")
    page.evaluate("document.getElementById('filter').focus()")
    page.send("Input.insertText", text="ALPHA")
    assert names(page) == ["Alpha"]


def test_slider_moves_by_key_and_updates_the_table(page):
    page.evaluate("document.getElementById('size').focus()")
    page.press("ArrowRight")
    assert sorted(names(page)) == sorted(NAMES[:4])
    state = "document.getElementById('state').innerText"
    assert page.evaluate(state).startswith("4 features explain 0.8")
    assert page.evaluate("document.querySelectorAll('#points .now').length") == 1
    assert page.evaluate("document.getElementById('names').value") == "\n".join(NAMES[:4])


def test_groups_follow_the_slider(browser, tmp_path):
    groups = (Group("<b>", np.arange(2)), Group("second", np.arange(2, 4)))
    write_report(facts(NAMES, groups=groups), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    rows = (
        "[...document.querySelectorAll('#groups tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.innerText))"
    )
    first = ["<b>", "chosen", "10.00 \u00b1 1.00", f"{NAMES[0]}, beta"]
    assert browser.evaluate(rows) == [first, ["second", "left out", "\u2013", "gamma, delta"]]
    assert column(browser, 2) == ["<b>", "<b>"]
    browser.evaluate("document.getElementById('size').focus()")
    browser.press("ArrowRight")
    second = ["second", "chosen", "16.67 \u00b1 1.00", "gamma, delta"]
    assert browser.evaluate(rows) == [second, first]
    assert browser.errors == []


def test_of_many_groups_the_chosen_are_shown(browser, tmp_path):
    groups = tuple(Group(f"g{i}", np.array([2 * i, 2 * i + 1])) for i in range(300))[::-1]
    made = replace(many_facts(600), groups=groups)
    write_report(made, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    assert browser.evaluate("document.querySelectorAll('#groups tbody tr').length") == 50
    state = "[...document.querySelectorAll('#groups td:nth-child(2)')].map(c => c.innerText)"
    assert set(browser.evaluate(state)) == {"chosen"}
    assert "250 more" in browser.evaluate("document.getElementById('more').innerText")
    assert browser.errors == []


def test_table_is_sorted_by_keyboard_alone(page):
    for _ in range(20):
        page.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Feature":
            break
    page.press("Enter")
    assert names(page) == sorted(NAMES[:2])


def test_dark_mode_turns_the_page_dark(page):
    lightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0)"
    )
    light = page.evaluate(lightness)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.send("Emulation.setEmulatedMedia", features=dark)
    assert page.evaluate(lightness) < 150 < 600 < light
    page.send("Emulation.setEmulatedMedia", features=[])


def test_a_phone_needs_no_sideways_scrolling(page):
    page.send(
        "Emulation.setDeviceMetricsOverride",
        width=360,
        height=740,
        deviceScaleFactor=2,
        mobile=True,
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.send("Emulation.clearDeviceMetricsOverride")


def test_pages_of_many_candidates(browser, tmp_path):
    write_report(many_facts(100_000), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    click(browser, "#only")
    assert len(names(browser)) == 50
    click(browser, "#next")
    assert "page 2 of 2000, 100,000" in browser.evaluate(
        "document.getElementById('page').innerText"
    )
    assert browser.errors == []
