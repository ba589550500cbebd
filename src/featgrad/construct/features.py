"""Constructed features that were chosen, as a table and as bars."""

from typing import Any, NamedTuple

from featgrad._support.results import Result
from featgrad._support.wording import percent
from featgrad.estimates.estimate import gain_text


class ConstructedFeature(NamedTuple):
    """A constructed feature that was chosen."""

    name: str
    operation: str  # that it was constructed by
    parts: list[str]  # given columns that it is made of
    price: float  # estimate of the explained fraction that it would add, when it entered
    gain: float  # explained fraction that held-out rows lose without it; NaN without `estimate`
    error: float  # standard error of the gain


class ConstructedFeatures(Result, list[ConstructedFeature]):
    """Constructed features, shown as a table; `plot` draws their gains."""

    def _rows(self) -> list[tuple[str, ...]]:
        if not self:
            return [("nothing is constructed",)]
        rows = [
            (name, operation, percent(price), gain_text(gain, error))
            for name, operation, _, price, gain, error in self
        ]
        return [("feature", "operation", "price", "gain"), *rows]

    def _bars(self) -> dict[str, Any]:
        return {
            "names": [one.name for one in self],
            "values": [one.gain for one in self],
            "errors": [one.error for one in self],
            "label": "share of the variance that is lost without it",
        }
