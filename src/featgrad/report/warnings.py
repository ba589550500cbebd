"""What to check before a selection is trusted, by names that its fit may not have seen."""

from featgrad.estimates.concerns import shared_labels
from featgrad.estimates.diagnosis import Concern, with_names
from featgrad.report.text import Described


def concerns_of(selection: Described) -> list[Concern]:
    """Those of the fit, and labels of rows."""
    selector, names = selection.selector, selection.names
    found = list(selector._concerns[selection.place])
    if all(concern.kind != "identifier" for concern in found):
        about = selection.matrix, names, selector.plan_, selector._variables
        found = [*shared_labels(*about), *found]
    return [with_names(concern, names) for concern in found]
