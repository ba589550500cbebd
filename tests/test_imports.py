"""The package as a whole: documentation, examples, imports."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import featgrad

MODULES = [
    module.name
    for module in pkgutil.walk_packages(featgrad.__path__, prefix=f"{featgrad.__name__}.")
]
# A category of warnings has no parameters.
PUBLIC = [getattr(featgrad, name) for name in featgrad.__all__ if not name.endswith("Warning")]
METHODS = [
    method
    for owner in PUBLIC
    if inspect.isclass(owner)
    for name, method in vars(owner).items()
    if inspect.isfunction(method) and not name.startswith("_")
]


def arguments(documented) -> list[str]:
    names = inspect.signature(documented).parameters
    return [name for name in names if name not in ("self", "cls", "options")]


@pytest.mark.parametrize("documented", [*PUBLIC, *METHODS], ids=lambda it: it.__qualname__)
def test_public_names_document_their_parameters(documented):
    text = inspect.getdoc(documented)
    assert text
    if inspect.isclass(documented) and issubclass(documented, Warning):
        return
    if not arguments(documented):
        return
    # What users are given has attributes, what they call has parameters.
    assert "Parameters\n----------" in text or "Attributes\n----------" in text
    # A line of the section may name several: "X, y" or "X : ...".
    named = {name for line in text.splitlines() for name in line.split(" :")[0].split(", ")}
    assert set(arguments(documented)) <= named


def test_the_page_of_the_api_has_every_public_name_and_no_private_module():
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    modules = page.split(".. currentmodule:: ")[1:]
    listed = {module.split()[0]: re.findall(r"^   (\w+)$", module, re.M) for module in modules}
    assert listed.keys() == {"featgrad", "featgrad.readers", "featgrad.report"}
    assert sorted(listed.pop("featgrad")) == sorted(featgrad.__all__)
    for module, names in listed.items():
        assert set(names) <= set(importlib.import_module(module).__all__)


def imported(name: str):
    """A module, where what it needs is there: Dask, river and kernels for a GPU need not be."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "river", "torch"):
            raise
        pytest.skip(f"needs {error.name}")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name: str):
    assert imported(name).__doc__


@pytest.mark.parametrize("name", [featgrad.__name__, *MODULES])
def test_examples_in_docstrings(name: str):
    assert doctest.testmod(imported(name)).failed == 0


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(Path(featgrad.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_import_adds_no_heavy_or_optional_package_to_scikit_learns_own():
    heavy = (
        "numba",
        "torch",
        "dask",
        "pandas",
        "polars",
        "matplotlib",
        "array_api_compat",
        "pyarrow",
    )
    code = (
        "import sys, sklearn.feature_selection; before = set(sys.modules); "
        "from featgrad import *; "
        f"print(sorted({set(heavy)} & (set(sys.modules) - before)))"
    )
    assert run(code) == "[]"


def test_names_can_be_listed_before_they_are_imported():
    code = "import featgrad; print(sorted(set(featgrad.__all__) - set(dir(featgrad))))"
    assert run(code) == "[]"
    with pytest.raises(AttributeError, match="has no attribute 'Selector'"):
        _ = featgrad.Selector


@pytest.mark.parametrize("given", [["--help"], ["select", "--help"], ["--version"]])
def test_help_imports_neither_scikit_learn_nor_numba(given: list[str]):
    code = (
        "import atexit, sys; from featgrad.cli import main; "
        "atexit.register(lambda: print({'sklearn', 'numba', 'numpy'} & set(sys.modules))); "
        f"main({given})"
    )
    assert run(code).endswith("set()")


def test_dense_fit_compiles_nothing():
    code = (
        "import sys, numpy as np; from featgrad import FeatureGradientSelector as F; "
        "X = np.random.default_rng(0).standard_normal((30, 4)); F(2).fit(X, X[:, 0]); "
        "print('numba' in sys.modules)"
    )
    assert run(code) == "False"


def test_imports_go_one_way(monkeypatch):
    cli = pytest.importorskip("importlinter.cli")
    root = Path(__file__).parents[1]
    monkeypatch.chdir(root)
    assert cli.lint_imports(config_filename=str(root / "pyproject.toml"), no_cache=True) == 0


def test_types_are_shipped():
    assert (Path(featgrad.__file__).parent / "py.typed").exists()
