"""Choices from rows that are read block by block."""

from __future__ import annotations

import copy

import numpy as np

from featgrad.choosing.budgets import BudgetSearch
from featgrad.choosing.choice import Choice
from featgrad.choosing.natural import of_natural_size_passing
from featgrad.choosing.request import Request
from featgrad.choosing.rows import choose_from_state
from featgrad.dataset.accumulated.reading import read_once
from featgrad.dataset.checkpoint import NO_CHECKPOINT, Checkpoint
from featgrad.dataset.prepare import usable_order
from featgrad.dataset.streamed import StreamedColumns
from featgrad.learnability import Learnability
from featgrad.math.filters import up_to
from featgrad.readers import Source


def choose_from_source(request: Request, source: Source, kept: Checkpoint) -> Choice:
    """Choose after one reading where that will do, and several otherwise."""
    settings = request.settings
    if kept is NO_CHECKPOINT and request.asked is not None:
        # A copy: what one reading draws must not change what several would.
        own = copy.deepcopy(request.rng)
        state = read_once(source, settings.task, settings.preprocess, settings.missing, own)
        if state is not None:
            return choose_from_state(request, state)
    columns = StreamedColumns(
        source, settings.task, settings.preprocess, settings.missing, request.rng, kept
    )
    return _choose_streamed(request, columns)


def _choose_streamed(request: Request, columns: StreamedColumns) -> Choice:
    """Choose from rows that are read again and again."""
    settings = request.settings
    order = usable_order(settings.order, settings.filter, columns.n_rows)
    family = up_to(settings.filter, order)
    if request.asked is None:
        sets = of_natural_size_passing(request, columns, family[-1], columns.task)
    else:
        sets = BudgetSearch(request, columns.dealt(), family[-1]).best(request.asked)
    together = np.unique(np.concatenate([subset.features for subset in sets.subsets]))
    explained = Learnability.from_prepared(*columns.sampled(together, family))
    places = (np.searchsorted(together, subset.features) for subset in sets.subsets)
    return Choice.of(columns.task, sets, (explained.estimate(place) for place in places))
