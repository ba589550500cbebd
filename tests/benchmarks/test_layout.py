"""Commands and what they share are in different folders, and every command that is named runs."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "benchmarks/README.md")),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs").glob("*.py"),
    *FOLDER.glob("results/*/summary.md"),
]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted(FOLDER.rglob("*.py"))
    if path.name != "__init__.py"
]
COMMANDS = {
    name.removesuffix(".__main__") for name in MODULES if not name.startswith("benchmarks.helpers.")
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_named_commands_exist(page: Path):
    named = re.findall(r"-m (benchmarks[\w.]*\w)", page.read_text(encoding="utf-8"))
    assert {*named} <= COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_outside_of_helpers_are_commands(command: str):
    spec = find_spec(command)
    if spec.submodule_search_locations:
        spec = find_spec(f"{command}.__main__")
    assert '\nif __name__ == "__main__":\n' in Path(spec.origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_modules_find_what_they_import(name: str):
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("benchmarks", "featgrad"):
            raise
        pytest.skip(f"needs {error.name}")


def test_the_readme_has_every_command():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [command for command in sorted(COMMANDS) if f"`python -m {command}" not in text] == []
