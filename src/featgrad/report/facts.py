"""Contents of a report as plain data."""

from dataclasses import dataclass

from featgrad.arrays import Floats, Indices
from featgrad.estimate import Estimate
from featgrad.held_out import Score
from featgrad.moments.least_squares import Gains


@dataclass(frozen=True)
class SizeFacts:
    """The selection at one size; what would take too long is None."""

    features: Indices  # the chosen columns, sorted
    learnability: Estimate
    score: Score | None = None  # of a ridge model on them
    gains: Gains | None = None  # explained fraction that is lost without each feature or its group
    # Position in `features` of the chosen feature that each candidate correlates with most, -1 for
    # none, and that correlation.
    nearest: Indices | None = None
    correlation: Floats | None = None

    @property
    def size(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Group:
    """Features that are selected together."""

    name: str
    features: Indices


@dataclass(frozen=True)
class Concern:
    """A warning about the selection."""

    title: str
    text: str


@dataclass(frozen=True)
class Facts:
    """Contents of a report.

    Attributes
    ----------
    settings, data, provenance : dict of str to str
        Settings of the selector, summary of the data, how to reproduce the selection: label and
        text.
    names : list of str
        Names of the candidates.
    univariate : ndarray
        Fraction of the variance that each candidate explains by itself.
    sizes : tuple of SizeFacts
        The selection at each size, in increasing order.
    chosen : int
        Position in `sizes` of the selected size.
    everything : Estimate
        Fraction of the variance that all candidates together explain.
    stability : ndarray or None
        Share of resamples in which each candidate was chosen.
    groups : tuple of Group
        Groups of features.
    concerns : tuple of Concern
        Warnings.
    """

    settings: dict[str, str]
    data: dict[str, str]
    provenance: dict[str, str]
    names: list[str]
    univariate: Floats
    sizes: tuple[SizeFacts, ...]
    chosen: int
    everything: Estimate
    stability: Floats | None = None
    groups: tuple[Group, ...] = ()
    concerns: tuple[Concern, ...] = ()

    @property
    def selection(self) -> SizeFacts:
        return self.sizes[self.chosen]
