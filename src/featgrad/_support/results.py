"""Results as tables, in notebooks too, and as pictures."""

import html
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from featgrad._support.wording import aligned, visible


class Tabular:
    """A result that prints as a table, with lines above it."""

    def _rows(self) -> Sequence[Sequence[str]]:
        """The head of the table and its rows."""
        raise NotImplementedError

    def _caption(self) -> str:
        return ""

    def __repr__(self) -> str:
        caption = self._caption()
        return f"{caption}\n\n{aligned(*self._rows())}" if caption else aligned(*self._rows())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        lines = (f"<div>{html.escape(visible(line))}</div>" for line in self._caption().split("\n"))
        return f"{''.join(lines)}{table(self._rows())}"


class Result(Tabular):
    """One that draws itself, too, by a display of `featgrad.report`."""

    _display = "FeaturesDisplay"

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw it with matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            As for the display.

        Returns
        -------
        Display
            Of `featgrad.report`, with `ax_` and `figure_`.
        """
        # By name: what draws is imported when something is drawn, and builds on what is drawn.
        display = getattr(import_module("featgrad.report.plots"), self._display)
        return display.of(self).plot(ax, **options)


def table(rows: Sequence[Sequence[str]]) -> str:
    """HTML, of a head and rows."""
    head, *others = (
        [f"<{cell}>{html.escape(visible(text))}</{cell}>" for text in row]
        for cell, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in others)
    return f"<table><thead><tr>{''.join(head)}</tr></thead><tbody>{body}</tbody></table>"
