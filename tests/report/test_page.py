"""The report in a real browser."""

from dataclasses import replace

import numpy as np
import pytest
from browser import PROGRAM, Browser
from fact_builders import facts, many_facts

from featgrad import OnlineFeatureSelector
from featgrad.estimates.estimate import Score, unknown
from featgrad.report import write_report, write_stream_report
from featgrad.report.facts import _drawn
from featgrad.report.profiles import Profile

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
    assert page.evaluate("document.title") == "price: 2 of 5 features \u00b7 featgrad"


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
    assert column(page, 2) == ["20.00 \u00b1 1.00 \u25bc", "10.00 \u00b1 1.00 \u25b2"]


def test_bars_are_as_long_as_gains(page):
    bars = "[...document.querySelectorAll('#features svg.gain rect')]"
    widths = page.evaluate(f"{bars}.map(b => +b.getAttribute('width'))")
    assert widths[0] == pytest.approx(2 * widths[1])
    # Neither direction is the better one.
    assert len(set(page.evaluate(f"{bars}.map(b => getComputedStyle(b).fill)"))) == 1


def test_replaced_features_are_named(page):
    assert column(page, 6) == ["\u2013", "replaces 1 feature\nAlpha (0.98)"]


def test_missing_shares_are_shown(page):
    assert column(page, 4) == ["37.5", "50.0"]


def test_each_chosen_feature_has_its_values_drawn(page):
    drawn = "[...document.querySelectorAll('#features svg.profile')]"
    assert page.evaluate(f"{drawn}.map(d => d.querySelectorAll('rect').length)") == [3, 3]
    # A bin of few rows has no mean.
    assert page.evaluate(f"{drawn}.map(d => d.querySelectorAll('circle').length)") == [3, 2]
    titles = page.evaluate(f"{drawn}.map(d => d.querySelector('circle title').textContent)")
    assert titles == ["0 to 1: mean of price 0.300", "0 to 1: mean of price 0.100"]


def test_heat_map_has_a_square_per_pair_and_names_what_is_replaced(page):
    squares = "[...document.querySelectorAll('.heatmap rect')]"
    opacities = page.evaluate(f"{squares}.map(s => +s.getAttribute('fill-opacity'))")
    assert opacities == [1, 0.98, 0.5, 0.98, 1, 0.4, 0.5, 0.4, 1]
    listed = page.evaluate("[...document.querySelectorAll('.abreast li')].map(c => c.innerText)")
    assert listed == [NAMES[0], "Alpha replaced by 1 (0.98)", "beta"]


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
    assert page.evaluate(state).startswith("explained by 4 features: 80.0%")
    assert page.evaluate("document.querySelectorAll('#points .now').length") == 1
    assert page.evaluate("document.getElementById('names').value") == "\n".join(NAMES[:4])


LETTERS = """[...document.querySelectorAll('#curve text')].map(text => {
  const box = text.getBoundingClientRect();
  return [box.left, box.right, box.top, box.bottom];
})"""


@pytest.mark.parametrize("width", [360, 1100])
@pytest.mark.parametrize("sizes", [(1, 2, 4), (1, 50, 100_000), range(1, 31)])
def test_no_letters_of_the_curve_leave_it_or_meet(browser, tmp_path, width, sizes):
    _resize(browser, width)
    made = facts([f"f{i}" for i in range(sizes[-1])], sizes)
    write_report(made, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    boxes = browser.evaluate(LETTERS)
    browser.send("Emulation.clearDeviceMetricsOverride")
    assert len(boxes) > len(sizes)  # each size has its number
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width
        for other in boxes[:i]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
            assert apart


def test_an_unknown_estimate_is_a_question_mark_and_no_point(browser, tmp_path):
    made = facts(NAMES)
    path = (*made.path[:-1], made.path[-1]._replace(learnability=unknown(4)))
    write_report(replace(made, path=path, everything=unknown(5)), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    marks = "document.querySelector('#points').textContent"
    assert browser.evaluate("document.querySelectorAll('#points circle').length") == 2
    assert browser.evaluate(marks).count("?") == 1
    assert browser.evaluate("document.querySelectorAll('#curve .everything').length") == 0
    assert "all 5" not in browser.evaluate("document.getElementById('curve').textContent")


@pytest.mark.parametrize(("name", "n_points"), [("R2", 3), ("AUC", 0)])
def test_the_r2_of_held_out_rows_is_a_line_in_the_curve(browser, tmp_path, name, n_points):
    made = facts(NAMES)
    path = tuple(point._replace(score=Score(name, 0.4, 0.1)) for point in made.path)
    write_report(replace(made, path=path), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    points = browser.evaluate("document.querySelector('#curve polyline.predicted').points.length")
    assert points == n_points
    legend = browser.evaluate("document.getElementById('curve').textContent")
    assert ("held-out rows" in legend) == bool(n_points)


def test_counts_that_are_wider_than_a_cell_are_percentages(browser, tmp_path):
    curve = {"name": "a", "x": [0, 1000], "y": [0, 1000], "count": 10, "found": 9}
    counts = [[300_000 * (i == j) + 100_000 * (i > j) for j in range(10)] for i in range(10)]
    held_out = {"rows": 40, "curves": [curve], "classes": list("abcdefghij"), "counts": counts}
    write_report(facts(NAMES, held_out=held_out), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    words = browser.evaluate("document.getElementById('confusion').textContent")
    assert "% of each class" in words
    assert "300,000300" not in words


def test_two_sizes_are_compared(page):
    page.evaluate("document.getElementById('other').value = '2'")
    page.evaluate("document.getElementById('other').dispatchEvent(new Event('change'))")
    lines = page.evaluate("[...document.querySelectorAll('#changes dd')].map(c => c.innerText)")
    assert lines[:2] == ["none", "gamma, delta"]
    assert lines[2].startswith("66.7% (62.7 to 70.6%); with 4: 80.0%")


def test_the_chosen_size_is_compared_with_the_best_at_first(browser, tmp_path):
    write_report(facts(NAMES, best=2), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    shown = browser.evaluate("document.getElementById('changes').innerText")
    assert "Only in the 4\ngamma, delta" in shown.replace("\n\n", "\n")


def test_missing_values_are_drawn_by_their_share(page):
    bars = "[...document.querySelectorAll('#gaps rect')].map(b => +b.getAttribute('width'))"
    widths = page.evaluate(bars)
    assert len(widths) == 4  # the last feature has none
    assert widths[0] == pytest.approx(4 * widths[3])


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_held_out_rows_have_a_picture(browser, tmp_path, task):
    held_out = {"name": "price", "points": [[1.0, 1.5], [2.0, 1.75]]}
    if task == "classes":
        curve = {"name": "a", "x": [0, 100, 1000], "y": [0, 900, 1000], "count": 10, "found": 9}
        held_out = {"rows": 40, "curves": [curve]}
    write_report(facts(NAMES, held_out=held_out), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    drawn = "document.querySelector('#predictions svg')"
    assert browser.evaluate(f"{drawn}.querySelectorAll('circle').length") == (
        0 if task == "classes" else 2
    )
    assert browser.evaluate(f"{drawn}.querySelectorAll('polyline').length") == int(
        task == "classes"
    )
    words = browser.evaluate("document.getElementById('held-out').innerText")
    assert ("a: of the 10 rows ranked highest" in words) == (task == "classes")
    assert browser.errors == []


@pytest.mark.parametrize("names", [["no", "yes"], ["a class of a long name", "b" * 40]])
def test_a_confusion_matrix_names_its_classes(browser, tmp_path, names):
    curve = {"name": "a", "x": [0, 1000], "y": [0, 1000], "count": 10, "found": 9}
    held_out = {"rows": 40, "curves": [curve], "classes": names, "counts": [[29, 1], [1, 9]]}
    write_report(facts(NAMES, held_out=held_out), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    titles = browser.evaluate(
        "[...document.querySelectorAll('#confusion title')].map(t => t.textContent)"
    )
    assert titles[1] == f"1 row of {names[0]} taken for {names[1]}, 3.3%"
    assert browser.evaluate("document.querySelectorAll('#confusion rect').length") == 4
    assert browser.errors == []


def test_pairs_of_many_classes_are_listed(browser, tmp_path):
    curve = {"name": "a", "x": [0, 1000], "y": [0, 1000], "count": 10, "found": 9}
    held_out = {"rows": 40, "curves": [curve], "pairs": [["7", "9", 3, 12]], "right": 30}
    write_report(facts(NAMES, held_out=held_out), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    words = browser.evaluate("document.getElementById('held-out').innerText")
    assert "7 for 9: 25.0% of 12 rows" in words
    assert "75.0% of the rows" in words
    assert browser.evaluate("document.getElementById('confusion').hidden")


def test_a_stream_is_drawn(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3))
    y = np.where(np.arange(6000) < 4000, X[:, 0], X[:, 1]) + 0.3 * rng.standard_normal(6000)
    stream = OnlineFeatureSelector(1, half_life=200).partial_fit(X, y)
    write_stream_report(stream, tmp_path / "stream.html", names=["<b>", NAMES[0], "c"])
    browser.open(tmp_path / "stream.html")
    rows = browser.evaluate("[...document.querySelectorAll('#alarms td')].map(c => c.innerText)")
    assert rows[1] == "predictions became worse"
    assert [text.split(" (")[0] for text in rows[2:]] == [NAMES[0], "<b>"]
    drawn = "document.querySelectorAll('#features-over-time rect').length"
    assert browser.evaluate(drawn) > 20
    assert browser.evaluate("document.querySelectorAll('#curve .chosen').length") == 1
    assert browser.evaluate("asPng(document.querySelector('#curve svg'))").startswith("data:image")
    assert browser.errors == []


def test_constructed_features_are_drawn(browser, tmp_path):
    shared = {"names": ["a * <b>"], "target": "mean of price"}
    cells = {"edges": [["0", "1", "2"], ["0", "1"]], "counts": [[5], [2]], "means": [[3.0], [None]]}
    line = {"x": [1, 2], "means": [1.0, 3.0], "errors": [0.1, 0.1], "grid": [1, 2], "shape": [1, 3]}
    built = [shared | {"parts": ["a", "<b>"]} | cells, shared | {"parts": ["a"]} | line]
    write_report(facts(NAMES, constructed=built), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    assert browser.evaluate("document.querySelector('#built h3').innerText") == "a * <b>"
    titles = "[...document.querySelectorAll('#built title')].map(t => t.textContent)"
    assert browser.evaluate(titles)[:2] == [
        "a 0 to 1, <b> 0 to 1: 3 (5 rows)",
        "a 1 to 2, <b> 0 to 1: too few rows (2 rows)",
    ]
    assert browser.evaluate("document.querySelectorAll('#built polyline').length") == 1
    assert browser.errors == []


def test_contents_link_to_the_sections_that_are_there(page):
    links = page.evaluate("[...document.querySelectorAll('nav a')].map(c => c.textContent)")
    assert links == [
        "Warnings", "How many features?", "Features", "Missing values", "Redundancy", "Data",
        "Reproduce",
    ]  # fmt: skip


def test_rows_are_saved_as_csv_with_quotes_where_they_are_needed(page):
    assert page.evaluate("asCsv([['a,b', 1, null], ['say \\\"x\\\"', true, '\\n']])") == (
        '"a,b",1,\r\n"say ""x""",true,"\n"'
    )
    rows = page.evaluate("featureRows()")
    assert len(rows) == 1 + len(NAMES)
    assert rows[2][:5] == ["beta", True, 0.2, 0.01, -1]


def test_pictures_are_saved_as_png(page):
    saved = page.evaluate("asPng(document.querySelector('#curve svg'))")
    assert saved.startswith("data:image/png;base64,")
    assert len(saved) > 5000


def test_a_category_is_drawn_with_its_name(browser, tmp_path):
    means, errors = np.array([[0.1], [0.4]]), np.zeros((2, 1))
    one = Profile(["a long name of a place", "b"], np.array([6, 8]), means, errors, True)
    write_report(facts(NAMES, **_drawn({0: one})), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    texts = "[...document.querySelectorAll('.profile text')].map(t => t.firstChild.data)"
    assert browser.evaluate(texts) == ["a long name of …", "b"]


def test_a_group_is_one_row_with_its_features_folded(browser, tmp_path):
    groups = [{"name": "<b>", "features": [0, 1]}, {"name": "second", "features": [2, 3]}]
    write_report(facts(NAMES, groups=groups), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    assert names(browser) == ["<b>\n2 features"]
    # A group has no direction.
    assert column(browser, 2) == ["10.00 \u00b1 1.00"]
    click(browser, "#features details")
    browser.evaluate("document.querySelector('#features details').open = true")
    assert names(browser) == [f"<b>\n2 features\n{NAMES[0]}\nbeta"]
    browser.evaluate("document.getElementById('size').focus()")
    browser.press("ArrowRight")
    assert names(browser) == ["second\n2 features", "<b>\n2 features"]
    browser.evaluate("document.getElementById('filter').focus()")
    browser.send("Input.insertText", text="delta")
    assert names(browser) == ["second\n2 features"]
    assert browser.errors == []


def test_of_a_large_group_the_first_features_are_listed(browser, tmp_path):
    count = 70_000
    group = {"name": "all", "features": list(range(count))}
    write_report(facts([f"f{i}" for i in range(count)], groups=[group]), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    items = browser.evaluate(
        "[...document.querySelectorAll('#features th li')].map(c => c.textContent)"
    )
    assert len(items) == 101
    assert items[-1] == "and 69,900 more"
    assert browser.errors == []


LONG = "laboratory_measurement_of_protein=plasma/serum.fasting mean"


@pytest.mark.parametrize("width", [360, 1100])
def test_names_are_broken_between_words_only(browser, tmp_path, width):
    _resize(browser, width)
    write_report(facts([LONG + str(i) for i in range(5)]), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    # Each line of text that the browser lays out.
    lines = browser.evaluate(
        """[...document.querySelectorAll('#features tbody th, .abreast .in')].flatMap(name => {
          const lines = new Map();
          const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const node = walker.currentNode;
            for (let i = 0; i < node.length; i++) {
              const range = document.createRange();
              range.setStart(node, i); range.setEnd(node, i + 1);
              const top = Math.round(range.getBoundingClientRect().top);
              lines.set(top, (lines.get(top) || '') + node.data[i]);
            }
          }
          return [...lines.values()];
        })"""
    )
    browser.send("Emulation.clearDeviceMetricsOverride")
    assert len(lines) >= 5
    assert all(line.endswith((*"_=/.01234", "fasting", "fasting ")) for line in lines), lines


def _resize(page, width):
    page.send(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=740,
        deviceScaleFactor=2,
        mobile=width < 500,
    )


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


def test_a_phone_shows_all_columns_without_sideways_scrolling(page):
    _resize(page, 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    cells = page.evaluate(
        """[...document.querySelectorAll('#features tbody tr:first-child > *')].map(cell => {
          const box = cell.getBoundingClientRect();
          return box.width > 0 && box.left >= 0 && box.right <= 360;
        })"""
    )
    labels = page.evaluate(
        "[...document.querySelectorAll('#features tr:first-child td')].map(c => c.dataset.label)"
    )
    page.send("Emulation.clearDeviceMetricsOverride")
    assert cells == [True] * 6
    assert labels == ["Gain, %", "Alone, %", "Missing, %", "Values", "Related"]


def test_long_names_leave_a_tablet_without_sideways_scrolling(browser, tmp_path):
    long = ["X" * 90, "bloodPressureSystolicAtFirstVisit" * 2, "c", "d", "e"]
    stability = [100] * len(long)
    write_report(facts(long, stability=stability), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    _resize(browser, 820)
    width = browser.evaluate("document.documentElement.scrollWidth")
    browser.send("Emulation.clearDeviceMetricsOverride")
    assert width <= 820


def test_tiny_numbers_have_short_labels(browser, tmp_path):
    held_out = {"name": "price", "points": [[1e-12, 1.5e-12], [-2e-12, 1.75e-12]]}
    write_report(facts(NAMES, held_out=held_out), tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    labels = "[...document.querySelectorAll('#predictions text')].map(t => t.textContent)"
    assert max(map(len, browser.evaluate(labels)[:-2])) <= 8


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
