"""One name for one thing, and no code twice."""

import ast
from collections import defaultdict
from pathlib import Path

import featgrad

ROOT = Path(featgrad.__file__).parent
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}
# Lines that two places may share.
MOST_SHARED = 10
# Functions that a protocol of Python or of an entry point names.
HOOKS = {"__getattr__", "__dir__", "main"}


def definitions(text: str) -> list[str]:
    """Classes, and functions others can import."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [
        node.name
        for node in ast.parse(text).body
        if isinstance(node, kinds)
        and (isinstance(node, ast.ClassDef) or not node.name.startswith("_"))
    ]


def code_lines(text: str) -> list[tuple[int, str]]:
    """Numbered lines that are neither blank nor part of an import."""
    imports = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return [(number, line) for number, line in lines if line and number not in imports]


def test_a_name_is_defined_in_one_module():
    modules = defaultdict(set)
    for module, text in SOURCES.items():
        for name in definitions(text):
            modules[name].add(module)
    twice = {name: sorted(found) for name, found in modules.items() if len(found) > 1}
    assert {name: twice[name] for name in twice.keys() - HOOKS} == {}


def test_no_two_places_share_more_than_ten_lines():
    places = defaultdict(list)
    for module, text in SOURCES.items():
        lines = code_lines(text)
        for i in range(len(lines) - MOST_SHARED):
            window = lines[i : i + MOST_SHARED + 1]
            places["\n".join(line for _, line in window)].append(f"{module}:{window[0][0]}")
    assert [found for found in places.values() if len(found) > 1] == []
