"""How the documentation is built: `make docs`."""

import io
import sys
from contextlib import redirect_stdout, suppress
from importlib import metadata
from pathlib import Path

from featgrad.cli.arguments import build_parser

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from benchmark_pages import write_benchmark_pages  # noqa: E402

project = "featgrad"
author = "The featgrad developers"
release = metadata.version("featgrad")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_title = f"featgrad {release}"
copyright = author
exclude_patterns = ["_build", "gallery", "howto"]
suppress_warnings = ["config.cache"]
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "howto"],
    "gallery_dirs": ["auto_gallery", "auto_howto"],
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": "",
}


def write_command_help(*_):
    """The help of each command, as it is printed."""
    commands = ("", "select", "score", "path", "watch", "info", "convert")
    folder = HERE / "auto_help"
    folder.mkdir(exist_ok=True)
    for command in commands:
        printed = io.StringIO()
        with redirect_stdout(printed), suppress(SystemExit):
            build_parser().parse_args([*command.split(), "--help"])
        (folder / f"{command or 'featgrad'}.txt").write_text(printed.getvalue())


def keep_underscores(app, what, name, obj, options, lines):
    """A fitted attribute in a shape, as in (n_features_in_,), is no link."""
    lines[:] = [line.replace("_,)", "\\_,)") for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", keep_underscores, priority=100)
    app.connect("builder-inited", write_command_help)
    app.connect("builder-inited", write_benchmark_pages)
