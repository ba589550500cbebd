"""Selectors from one list of options, those of the search among them."""

from featgrad import FeatureGradientSelector, MiniBatch, WorkingSet


def with_search(search=WorkingSet, **options) -> FeatureGradientSelector:
    """A selector whose search has those of the options that are its parameters."""
    own = {name: options.pop(name) for name in search().get_params() if name in options}
    return FeatureGradientSelector(**options, search=search(**own))


def published(**options) -> FeatureGradientSelector:
    """The published search, in which a penalty decides the size."""
    return with_search(MiniBatch, **{"penalty": 1.0} | options)
