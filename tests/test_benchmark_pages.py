"""Pages of the documentation that are made from benchmark results."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from benchmarks.helpers import record

FILE = Path(__file__).parents[1] / "docs" / "benchmark_pages.py"


@pytest.fixture
def pages(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmark_pages", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "PAGES", tmp_path / "pages")
    return module


def written(pages) -> dict[str, str]:
    pages.write_benchmark_pages()
    return {path.stem: path.read_text() for path in pages.PAGES.glob("*.md")}


def test_there_is_a_page_for_each_benchmark_without_results(pages):
    texts = written(pages)
    assert sorted(texts) == [
        "best_subset", "construct", "dask", "error_control", "faults", "gpu", "honesty", "online",
        "online_bars", "paper", "published", "quality", "scale", "speed", "suppressors",
        "synthetic", "tables",
    ]  # fmt: skip
    assert all("Nothing is recorded yet." in text for text in texts.values())


def test_a_table_names_every_benchmark_with_its_command(pages):
    written(pages)
    table = (pages.PAGES / "measured.txt").read_text()
    line = "| [Speed](auto_benchmarks/speed.md) | `make bench-speed` | never |"
    assert line in table.splitlines()


@pytest.mark.parametrize("name", ["gpu", "speed", "scale"])
def test_figures_stand_beside_what_is_asked(pages, name):
    figures = [record.Figure("time", 2.5, "x", "<= 2")]
    record.record("tall", 5000, "python -m a.b", figures, pages.RESULTS / name, "Title")
    text = written(pages)[name]
    assert "| tall | 5,000 | time | 2.5 x | <= 2 | no |" in text
    assert re.search(r"<= 2 \| no \| \d{4}\W\d\d\W\d\d, \w+", text)
    assert "- `python -m a.b`" in text
    assert "Title" not in text


def test_figures_of_an_older_search_stand_apart(pages, monkeypatch):
    figures = [record.Figure("time", 2.5, "x"), record.Figure("memory", 1, "GiB")]
    for day, figure in zip(("2026-11-15", "2026-11-17"), figures, strict=True):
        monkeypatch.setattr(record, "today", lambda day=day: day)
        record.record("tall", 5000, "python -m a.b", [figure], pages.RESULTS / "scale", "Title")
    present, older = written(pages)["scale"].split("## Older")
    assert "memory" in present
    assert "memory" not in older
    assert "| time | 2.5 x |" in older


def test_the_day_of_a_figure_that_does_not_tell_is_that_of_its_line(pages):
    (date, commit), *_ = pages.blame(FILE.parents[1] / "benchmarks" / "results" / "speed")
    if date == "unknown":
        pytest.skip("the history of the repository is not here")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \w{7,}", f"{date} {commit}")


def test_each_set_says_who_leads_and_shows_its_picture(pages):
    folder = pages.RESULTS / "quality"
    (folder / "plots").mkdir(parents=True)
    (folder / "plots" / "score_one.svg").write_text("<svg/>")
    (folder / "summary.md").write_text("# Title\n\nThe table.\n")
    table = {"peer": {"one": 0.9, "two": 0.7}, "featgrad": {"one": 0.8, "two": 0.75}}
    summary = {"binary": {"sets": ["one", "two"], "mean_score": table}}
    (folder / "summary.json").write_text(json.dumps(summary))
    text = written(pages)["quality"]
    assert text.count("# Quality of chosen features") == 1
    assert "Best of 2: peer, mean score 0.9000; featgrad is number 2, 0.8000." in text
    assert "Best of 2: featgrad, mean score 0.7500." in text
    assert "![score one](score_one.svg)" in text
    assert (pages.PAGES / "score_one.svg").exists()


@pytest.mark.parametrize("name", ["suppressors", "error_control", "published"])
def test_summaries_are_shown_without_their_title(pages, name):
    folder = pages.RESULTS / name
    folder.mkdir(parents=True)
    (folder / "summary.md").write_text("# Title\n\nThe table.\n")
    text = written(pages)[name]
    assert "The table." in text
    assert "Title" not in text


def test_best_subset_draws_its_picture(pages):
    folder = pages.RESULTS / "best_subset"
    folder.mkdir(parents=True)
    (folder / "summary.md").write_text("# Title\n\nThe table.\n")
    curve = {"featgrad": 10 * [1.0], "peer": 9 * [2.0] + [None]}
    drawn = {"F1": dict.fromkeys(("lo", "med", "hi5", "hi10"), curve)}
    (folder / "results.json").write_text(json.dumps({"drawn": drawn}))
    assert "![best subset](best_subset.svg)" in written(pages)["best_subset"]
    assert "featgrad" in (pages.PAGES / "best_subset.svg").read_text()


def test_the_paper_has_its_tables_and_all_its_pictures(pages):
    folder = pages.RESULTS / "paper"
    folder.mkdir(parents=True)
    (folder / "summary.md").write_text("# Title\n\nThe table.\n")
    for name in ("orders", "large"):
        (folder / f"{name}.svg").write_text("<svg/>")
    text = written(pages)["paper"]
    assert "The table." in text
    assert text.index("![large](large.svg)") < text.index("![orders](orders.svg)")
