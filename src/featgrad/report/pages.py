"""Pages of one file: a template, its style, and scripts that draw what JSON in it says.

Names of features are untrusted: text is escaped, the script of a page writes text nodes only, and
the content security policy blocks all other scripts.
"""

import json
import os
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from featgrad._support.atomic import atomic_path
from featgrad.report.text import escape


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def filled_page(name: str, headline: str, scripts: Sequence[str] = (), **parts: Any) -> str:
    """A page that may use its own style and these scripts, pictures that they make, nothing else.

    Its `facts` are what the scripts show, as JSON.
    """
    style, script = asset("page.css"), "".join(map(asset, scripts))
    policy = f"default-src 'none'; {_allowed('style', style)}"
    if scripts:
        policy += f"; {_allowed('script', script)}; img-src data:"
        parts |= {"facts": _json(parts["facts"]), "script": script}
    head = from_template("head.html", headline=escape(headline), style=style, policy=policy)
    return from_template(name, head=head.rstrip(), **parts)


def _allowed(kind: str, text: str) -> str:
    return f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _json(value: Any) -> str:
    """JSON that cannot close the script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def from_template(name: str, **parts: Any) -> str:
    return Template(asset(name)).substitute(parts)


def asset(name: str) -> str:
    return (files("featgrad.report") / "page" / name).read_text(encoding="utf-8")
