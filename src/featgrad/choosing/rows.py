"""Choices from rows in memory: all of them, or what is kept of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.choosing.budgets import BudgetSearch
from featgrad.choosing.choice import Choice
from featgrad.choosing.natural import of_natural_size
from featgrad.choosing.request import Request
from featgrad.dataset.accumulated.state import Accumulated
from featgrad.dataset.compressed import CompressedColumns
from featgrad.dataset.dealt import DealtRows
from featgrad.dataset.prepare import Prepared, prepare, prepare_encoded, scaled
from featgrad.learnability import Learnability
from featgrad.preprocess.curves import with_curves
from featgrad.search.subsets import Columns

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def choose_from_rows(request: Request, X: Any, y: Any, sample_weight: Any) -> Choice:
    """Choose from a validated matrix."""
    settings = request.settings
    prepared = prepare(
        X,
        y,
        order=settings.order,
        filter=settings.filter,
        task=settings.task,
        preprocess=settings.preprocess,
        sample_weight=sample_weight,
        rng=request.rng,
    )
    return _choose(request, X, prepared, None)


def choose_from_state(request: Request, state: Accumulated) -> Choice:
    """Choose from rows that came in chunks."""
    kept, settings = state.told_from(), request.settings
    prepared = prepare_encoded(
        kept.X,
        kept.outputs,
        state.encoding.task,
        kept.weights / kept.weights.sum(),
        order=settings.order,
        filter=settings.filter,
        preprocess=settings.preprocess,
        rng=request.rng,
    )
    return _choose(request, kept.X, prepared, state.columns())


def _choose(request: Request, X: Any, prepared: Prepared, columns: Columns | None) -> Choice:
    """Choose by columns, or by those of the rows in memory."""
    problem, target, rows = prepared
    if request.asked is None:
        sets = of_natural_size(request, scaled(problem), target.task)
    else:
        curved = None
        if columns is None:
            told = problem.weights, target.outputs, request.settings.preprocess
            columns = DealtRows(CompressedColumns(X, rows, *told))
            curved = _curved(X, rows, *told)
        search = BudgetSearch(request, columns, problem.coefficients, curved)
        sets = search.best(request.asked)
    explained = Learnability.from_prepared(problem, target)
    return Choice.of(target.task, sets, (explained.estimate(s.features) for s in sets.subsets))


def _curved(
    X: Any, rows: Indices, weights: Floats, outputs: Floats, preprocess: str
) -> Columns | None:
    """Columns beside their curves, where these may tell something."""
    both = with_curves(X, rows, weights, outputs) if preprocess == "zscore" else None
    if both is None:
        return None
    return DealtRows(CompressedColumns(both, np.arange(len(both)), weights, outputs, "center"))
