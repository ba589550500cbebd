"""Contents of a report as plain data."""

from dataclasses import dataclass, field
from html import escape

from featgrad._support.types import Floats, Indices
from featgrad.estimate import Estimate
from featgrad.held_out import Score
from featgrad.moments.least_squares import Gains
from featgrad.report.values import Profile


@dataclass(frozen=True)
class SizeFacts:
    """The selection at one size; what would take too long is None."""

    features: Indices  # the chosen columns, sorted
    learnability: Estimate
    score: Score | None = None  # of a ridge model on them
    gains: Gains | None = None  # explained fraction that is lost without each feature or its group
    effects: Floats | None = None  # of each feature in a ridge model, if the target is one number
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
class Redundancy:
    """Correlations among chosen features and those that they replace."""

    features: Indices  # each chosen one is followed by those it replaces
    replaced_by: Indices  # position in `features` of the chosen one; -1 for chosen ones
    correlations: Floats


@dataclass(frozen=True)
class Concern:
    """A warning about the selection, and the features to leave out if it is right."""

    title: str
    text: str
    suspects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """Contents of a report.

    Attributes
    ----------
    target : str or None
        Name of the target, where it has one.
    settings, search, data, provenance : dict of str to str
        Settings of the selector, how the search ran, summary of the data, how to reproduce the
        selection: label and text.
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
    missing : ndarray or None
        Share of the rows in which each candidate is missing; None where nothing is.
    series : tuple of str
        What profiles show of the target.
    profiles : dict of int to Profile
        Distribution of some candidates, and of the target over their values. A group is found by
        its first feature.
    redundancy : Redundancy or None
        Correlations among the chosen and what they replace; None where there is one feature.
    stability : ndarray or None
        Share of resamples in which each candidate was chosen.
    groups : tuple of Group
        Groups of features.
    concerns : tuple of Concern
        Warnings.
    """

    target: str | None
    settings: dict[str, str]
    search: dict[str, str]
    data: dict[str, str]
    provenance: dict[str, str]
    names: list[str]
    univariate: Floats
    sizes: tuple[SizeFacts, ...]
    chosen: int
    everything: Estimate
    missing: Floats | None = None
    series: tuple[str, ...] = ()
    profiles: dict[int, Profile] = field(default_factory=dict)
    redundancy: Redundancy | None = None
    stability: Floats | None = None
    groups: tuple[Group, ...] = ()
    concerns: tuple[Concern, ...] = ()

    @property
    def selection(self) -> SizeFacts:
        return self.sizes[self.chosen]

    def _repr_html_(self) -> str:
        """The report in a frame of its own, for notebooks."""
        # Imported here: pages are made of facts.
        from featgrad.report.html import render

        page = escape(render(self))
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="700"></iframe>'
        )
