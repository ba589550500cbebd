"""Code in README and documentation runs."""

import io
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from featgrad.cli import main

ROOT = Path(__file__).parents[1]
# The page that writes the files of its commands itself.
FILES = ROOT / "docs" / "files.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


SOURCES = [*PAGES, *(ROOT / "docs").glob("*/plot_*.py"), *(ROOT / "src").rglob("*.py")]
# What a reader of English stumbles over.
UNIDIOMATIC = re.compile(
    r"\bMend\b|\b(is|are) no numbers?\b|\btold from\b|\bthese 1 |\b1 (features|rows|sets|groups)\b"
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def commands(*pages: Path) -> list[str]:
    text = "".join(block for page in pages for block in blocks(page, "bash"))
    return [line for line in text.splitlines() if line.startswith("featgrad ")]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p != FILES and blocks(p, "python")], ids=lambda p: p.name
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_picture_on_the_first_page_is_drawn_by_the_code_next_to_it(page):
    (code,) = blocks(ROOT / page, "python")
    fit = next(line for line in code.splitlines() if line.startswith("selector = "))
    assert fit in (ROOT / "benchmarks" / "front_page.py").read_text()


@pytest.mark.parametrize("command", commands(*(page for page in PAGES if page != FILES)))
def test_commands_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "diagnosis"})
    frame["clinic"] = np.resize(["north", "south"], len(frame))
    frame.iloc[::3, 18:].to_csv("patients.csv", index=False)
    assert main(shlex.split(command)[1:]) == 0


def test_the_page_of_files_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks(FILES, "python")), {})
    for command in commands(FILES):
        given, _, file = command.partition(" < ")
        if file:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(file).read_bytes())))
        assert main(shlex.split(given)[1:]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_english_is_plain(page):
    assert not UNIDIOMATIC.findall(page.read_text())


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "howto").glob("*.py")), ids=lambda p: p.stem
)
def test_every_how_to_has_a_picture(page):
    assert "plt.show()" in page.read_text()


def test_the_demo_shows_a_gain_and_names_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"))
    printed = capsys.readouterr().out
    wrong = dict(re.findall(r"^ +(\d+ \w+) +\W+ (\d+)$", printed, re.M))
    for size in (3, 5, 8):
        assert int(wrong[f"{size} featgrad"]) < int(wrong[f"{size} SelectKBest"])
    assert str(tmp_path / "demo_report.html") in printed
    assert (tmp_path / "demo_report.html").stat().st_size > 0
