"""The map and the walks of CONTRIBUTING are those of the code.

``python tests/test_contributing.py`` writes them anew, from what modules and functions say of
themselves.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from golden_cases import entries, in_chunks, numbers, of_file, selector
from test_fitting import own_stacks

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "featgrad"
PAGE = ROOT / "CONTRIBUTING.md"


def in_memory(X, y) -> Callable[[], object]:
    return lambda: selector(5).fit(X, y)


# From a call to the module, or the function, that a walk ends in.
WALKS: dict[str, tuple[Callable[[], object], str]] = {
    "A dense matrix, to the swaps": (in_memory(*numbers(300, 1200)), "search/swaps.py"),
    "A CSR matrix, to the sums over its rows": (
        in_memory(*entries(500, 1400)),
        "dataset/sums.py: add",
    ),
    "A file, to the moments of a block": (
        lambda: of_file(selector(4), "rows.csv"),
        "dataset/all_moments.py: add",
    ),
    "Chunks, to what is kept of them": (
        lambda: in_chunks(selector(4), *numbers(400, 20)),
        "dataset/chunks.py: add",
    ),
}


def first_sentence(node: ast.Module | ast.FunctionDef) -> str:
    text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[^.])\.(?= |$)", text)[0]


def layers() -> list[str]:
    """Modules and packages of featgrad, those first that import the others."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    order = next(each["layers"] for each in contracts["contracts"] if each["type"] == "layers")
    return [name.strip("() ") for layer in order for name in layer.split("|")]


def modules() -> Iterator[tuple[int, Path]]:
    """Files of the package with their depth, as the map has them."""
    for name in layers():
        module, folder = PACKAGE / f"{name}.py", PACKAGE / name
        if module.exists():
            yield 1, module
        for path in sorted(folder.rglob("*.py"), key=lambda p: (p.parent, p.stem)):
            depth = len(path.relative_to(PACKAGE).parts)
            yield depth - (path.name == "__init__.py"), path


def the_map() -> str:
    lines = []
    for depth, path in modules():
        name = f"{path.parent.name}/" if path.name == "__init__.py" else path.name
        about = first_sentence(ast.parse(path.read_text()))
        lines.append(f"{'  ' * depth + name:<24}{about}\n")
    return "".join(lines)


def the_walk(title: str) -> str:
    run, end = WALKS[title]
    found = [stack for stack in own_stacks(run) if re.match(rf"{end}(?!.*__)", stack[-1])]
    lines = []
    for call in min(found, key=lambda stack: (len(stack), stack)):
        module, name = call.split(": ")
        if name == "<lambda>":
            continue
        tree = ast.parse((PACKAGE / module).read_text())
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name]
        about = next(filter(None, map(first_sentence, nodes)), "")
        lines.append(f"  {module:<27}{name:<20}{about}".rstrip() + "\n")
    return "".join(lines)


def block(title: str) -> re.Pattern[str]:
    return re.compile(rf"(```\n{re.escape(title)}\n)(.*?)(?=```)", re.DOTALL)


def test_the_map_is_that_of_the_code():
    assert block("src/featgrad/").search(PAGE.read_text())[2] == the_map()


@pytest.mark.parametrize("title", WALKS)
def test_walks_are_those_of_the_code(title: str):
    assert block(title).search(PAGE.read_text())[2] == the_walk(title)


if __name__ == "__main__":
    text = PAGE.read_text()
    for title, made in {
        "src/featgrad/": the_map(),
        **{each: the_walk(each) for each in WALKS},
    }.items():
        text = block(title).sub(lambda found, made=made: found[1] + made, text)
    PAGE.write_text(text)
