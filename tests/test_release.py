"""Files for a release agree with the package, and name commands and versions that exist."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
LOWER = re.compile(r"^([\w.-]+)(?:\[\w+\])?>=([\d.]+)$")


def loaded(path: Path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def lower_limits() -> dict[str, set[str]]:
    """Of each package, all that the project gives for it."""
    extras = PROJECT["optional-dependencies"]
    named = [
        *PROJECT["dependencies"],
        *extras["test"],
        *extras["excel"],
        *extras["files"],
        *extras["plot"],
    ]
    limits: dict[str, set[str]] = {}
    for match in filter(None, map(LOWER.match, named)):
        limits.setdefault(match[1], set()).add(match[2])
    return limits


def scripts() -> dict[str, str]:
    """What files run in a shell."""
    steps = {
        f"{path.name} {name}": "\n".join(step.get("run", "") for step in job["steps"])
        for path in WORKFLOWS
        for name, job in loaded(path)["jobs"].items()
    }
    return steps | {name: (ROOT / ".ci" / name).read_text() for name in ("run", "wheel")}


SCRIPTS = scripts()


@pytest.mark.parametrize("name", SCRIPTS)
def test_make_knows_the_targets_that_are_named(name):
    known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = " ".join(re.findall(r"^make ([\w -]+)$", SCRIPTS[name], re.MULTILINE)).split()
    assert {*named} <= {*known}


@pytest.mark.parametrize("name", SCRIPTS)
def test_extras_that_are_installed_exist(name):
    named = re.findall(r"(?:\.|wheel)\[([\w,-]+)\]", SCRIPTS[name])
    assert {extra for found in named for extra in found.split(",")} <= {
        *PROJECT["optional-dependencies"]
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_that_are_run_exist(name):
    for path in re.findall(r"^(\.ci/\w+)$", SCRIPTS[name], re.MULTILINE):
        assert (ROOT / path).stat().st_mode & 0o100


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_needs(path):
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    given = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    assert given == ([{"id-token": "write"}] if path.stem == "publish" else [])


def test_versions_of_python_are_those_of_the_workflow():
    matrix = loaded(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_for_issues_can_be_read(path):
    form = loaded(path)
    assert "blank_issues_enabled" in form or {"name", "description", "body"} <= form.keys()


def test_the_oldest_versions_are_the_lower_limits():
    lines = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    oldest = dict(line.split("==") for line in lines if "==" in line and line[0] != "#")
    limits = lower_limits()
    for name, version in oldest.items():
        allowed = limits.get(name, {version})
        assert {_padded(limit) for limit in allowed} == {_padded(version)}, name
    assert {LOWER.match(text)[1] for text in PROJECT["dependencies"]} <= oldest.keys()


def _padded(version: str) -> tuple[str, ...]:
    parts = version.split(".")
    return tuple([*parts, "0", "0"][:3])


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = loaded(ROOT / "recipe" / "recipe.yaml")
    python, *packages = recipe["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    assert [package.replace(" ", "") for package in packages] == PROJECT["dependencies"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    command, target = recipe["build"]["python"]["entry_points"][0].split(" = ")
    assert PROJECT["scripts"] == {command: target}


@pytest.mark.parametrize(
    ("path", "place"), [("CITATION.cff", "version"), ("recipe/recipe.yaml", "context")]
)
def test_there_is_one_version(path, place):
    found = loaded(ROOT / path)[place]
    assert (found["version"] if place == "context" else found) == PROJECT["version"]
