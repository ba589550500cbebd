"""What a report says about a selection, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from featgrad.arrays import Floats, Indices
from featgrad.learnability import Estimate


@dataclass(frozen=True)
class SizeFacts:
    """The selection at one size.

    Attributes
    ----------
    features : ndarray
        The chosen columns, rising.
    learnability : Estimate
        What they explain.
    gains : ndarray or None
        What is lost when each is left out, with all of its group; None where that would take too
        long.
    nearest : ndarray or None
        For each candidate, the position in `features` of the other chosen feature that it
        correlates with most, -1 where there is none; None where this was left out.
    correlation : ndarray or None
        That correlation.
    """

    features: Indices
    learnability: Estimate
    gains: Floats | None = None
    nearest: Indices | None = None
    correlation: Floats | None = None

    @property
    def size(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Group:
    """Features that go in or out together."""

    name: str
    features: Indices


@dataclass(frozen=True)
class Concern:
    """Something to look at before the selection is trusted."""

    title: str
    text: str


@dataclass(frozen=True)
class Facts:
    """Everything that a report says.

    Attributes
    ----------
    asked, data, provenance : dict of str to str
        What was asked, what the data are, and how to get the same again: lines of label and text.
    names : list of str
        The candidates.
    alone : ndarray
        What each candidate explains on its own.
    sizes : tuple of SizeFacts
        The selection at each size tried, rising.
    chosen : int
        Position in `sizes` of the size that was taken.
    everything : Estimate
        What all candidates together explain.
    stability : ndarray or None
        Share of resamples in which each candidate was chosen.
    groups : tuple of Group
        Features that go together.
    concerns : tuple of Concern
        What to look at first.
    """

    asked: dict[str, str]
    data: dict[str, str]
    provenance: dict[str, str]
    names: list[str]
    alone: Floats
    sizes: tuple[SizeFacts, ...]
    chosen: int
    everything: Estimate
    stability: Floats | None = None
    groups: tuple[Group, ...] = ()
    concerns: tuple[Concern, ...] = ()

    @property
    def selection(self) -> SizeFacts:
        return self.sizes[self.chosen]
