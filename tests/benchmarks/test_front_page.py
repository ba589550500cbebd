"""What the README shows is what the results say, and what the commits it names recorded."""

import re
import subprocess

import pytest

from benchmarks import front_page
from featgrad.report import summarise

WORDS_AT_MOST = 450
LINES_OF_CODE = re.compile(r"^```.*?^```$|^\|.*?$|^\[!\[.*?$", re.MULTILINE | re.DOTALL)
README = front_page.README.read_text()
ROW = r"^\| \*\*{}\*\* \| (.*?) \| \[(\w+)\]\(.*\), `(\w+)` \|$"


def row(title):
    return re.search(ROW.format(title), README, re.MULTILINE).groups()


@pytest.mark.parametrize("title", front_page.ROWS)
def test_a_row_says_what_the_results_say(title):
    assert row(title)[0] == front_page.ROWS[title][0]()


@pytest.mark.parametrize("title", front_page.ROWS)
def test_the_commit_of_a_row_has_its_figures(title, tmp_path, monkeypatch):
    text, name, commit = row(title)
    for file in ("cells.jsonl", "summary.json", "results.json"):
        command = ["git", "show", f"{commit}:benchmarks/results/{name}/{file}"]
        found = subprocess.run(command, cwd=front_page.ROOT, capture_output=True, check=False)
        if found.returncode == 0:
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / file).write_bytes(found.stdout)
    if not (tmp_path / name).exists():
        pytest.skip("the history of the repository is not here")
    monkeypatch.setattr(front_page, "RESULTS", tmp_path)
    assert text == front_page.ROWS[title][0]()


def test_the_chart_says_what_the_results_say():
    chart = (front_page.IMAGES / "ranks.svg").read_text()
    found = front_page.ranked()["all sets"]
    assert f"over {found['n_sets']} data sets" in chart
    for name, (mean, error) in found["ranks"].items():
        assert f">{front_page.label(name)}<" in chart
        assert f">{mean:.2f} ± {error:.2f}<" in chart


def test_the_chart_is_drawn_anew(tmp_path):
    front_page.draw_ranks(tmp_path / "ranks.svg")
    assert ">featgrad<" in (tmp_path / "ranks.svg").read_text()


def test_the_picture_of_the_report_shows_the_figures_of_now():
    image = pytest.importorskip("PIL.Image")
    with image.open(front_page.IMAGES / "report.png") as picture:
        assert picture.info["Description"] == summarise(*front_page.fit_example())


@pytest.mark.skipif(front_page.BROWSER is None, reason="needs Chromium")
def test_the_report_is_drawn_anew(tmp_path):
    image = pytest.importorskip("PIL.Image")
    front_page.draw_report(tmp_path / "report.png")
    with image.open(tmp_path / "report.png") as picture:
        assert picture.width >= front_page.WINDOW[0]
        assert len(picture.convert("L").getcolors()) > 10


def test_rows_are_filled_where_they_stand():
    assert front_page.fill_rows("| **Speed** | old | |\nrest") != "| **Speed** | old | |\nrest"
    assert front_page.fill_rows("rest") == "rest"


def test_the_readme_is_short():
    assert len(LINES_OF_CODE.sub("", README).split()) <= WORDS_AT_MOST
