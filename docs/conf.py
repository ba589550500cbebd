"""How the documentation is built: `make docs`."""

import io
import re
import shutil
import sys
import warnings
from contextlib import redirect_stdout, suppress
from importlib import metadata
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

from featgrad.cli.arguments import build_parser

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from benchmark_pages import write_benchmark_pages  # noqa: E402

from benchmarks import front_page  # noqa: E402
from featgrad.report import gather_facts, write_report  # noqa: E402

REPORTS = HERE / "auto_reports"
REPORTS.mkdir(exist_ok=True)

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
default_role = "code"
html_title = f"featgrad {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_extra_path = [REPORTS.name]
html_css_files = ["pages.css"]
html_theme_options = {"light_css_variables": {"sidebar-item-font-size": "82%"}}
templates_path = ["_templates"]
smartquotes_action = "qe"  # options such as --report keep both hyphens
html_show_sourcelink = False
copyright = author
exclude_patterns = ["_build", "gallery", "howto"]
suppress_warnings = ["config.cache"]
numpydoc_show_class_members = False
autodoc_typehints = "none"  # docstrings say them in words

# How-tos in the order in which readers need them; what is not named comes last.
HOWTOS = [
    "tables", "pipeline", "numbers", "rows", "categories", "imbalanced", "wide", "sparse_text",
    "groups_costs", "error_control", "compare", "construct", "digits", "big_files", "gpu",
    "streams",
]  # fmt: skip


def place_of_page(file):
    """The key by which pages of a folder are sorted."""
    name = file.removeprefix("plot_").removesuffix(".py")
    return HOWTOS.index(name) if name in HOWTOS else len(HOWTOS), name


sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "howto"],
    "gallery_dirs": ["auto_gallery", "auto_howto"],
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "within_subsection_order": place_of_page,
    "capture_repr": (),  # pages print what they show
    "copyfile_regex": "",
}


def one_line(message, category, *_):
    """A warning of an example, without the place of its file on this machine."""
    return f"{category.__name__}: {message}\n"


warnings.formatwarning = one_line


def write_command_help(*_):
    """The help of each command, as it is printed."""
    commands = ("", "select", "construct", "score", "path", "watch", "info", "convert")
    folder = HERE / "auto_help"
    folder.mkdir(exist_ok=True)
    for command in commands:
        printed = io.StringIO()
        with redirect_stdout(printed), suppress(SystemExit):
            build_parser().parse_args([*command.split(), "--help"])
        (folder / f"{command or 'featgrad'}.txt").write_text(printed.getvalue())


def draw_pictures(*_):
    """The report of the first page and its pictures; without a browser, as last committed."""
    write_report(gather_facts(*front_page.fit_example()), REPORTS / "report.html")
    folder = HERE / "auto_images"
    folder.mkdir(exist_ok=True)
    front_page.draw_ranks(folder / "ranks.svg")
    if front_page.BROWSER:
        front_page.draw_report(folder / "report.png")
    else:
        getLogger(__name__).info("no Chromium: the picture of the report is the committed one")
        shutil.copy(front_page.IMAGES / "report.png", folder)


def write_math(self, node):
    """Formulas as MathML, which browsers draw by themselves: no scripts, fonts or network."""
    self.body.append(tex2mathml(node.astext(), as_block=node.tagname == "math_block"))
    raise SkipNode


def begin_with_picture(app, docname, source):
    """What a how-to draws stands below its introduction as well."""
    folder, _, name = docname.rpartition("/")
    if folder == "auto_howto" and name.startswith("plot_"):
        picture = (
            f".. image:: images/sphx_glr_{name}_001.png\n   :width: 520px\n   :align: center\n\n"
        )
        code = ".. GENERATED FROM"
        source[0] = source[0].replace(code, picture + code, 1)


def keep_underscores(app, what, name, obj, options, lines):
    """A fitted attribute in a shape, as in (n_features_in_,), is no link."""
    lines[:] = [re.sub(r"(\(n_[\w, ]*?)_(?=,?\))", r"\1\\_", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", keep_underscores, priority=100)
    app.connect("builder-inited", write_command_help)
    app.connect("builder-inited", write_benchmark_pages)
    app.connect("builder-inited", draw_pictures)
    app.connect("source-read", begin_with_picture)
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
