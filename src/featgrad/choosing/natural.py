"""The paper's search: the set whose size the penalty decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featgrad.choosing.choice import Sets
from featgrad.choosing.request import Request
from featgrad.dataset.dealt import RowColumns
from featgrad.moments.problem import Problem
from featgrad.search import penalised
from featgrad.search.progress import Found
from featgrad.search.subsets import Subset

Floats = NDArray[np.float64]

# Rows per step where rows are read block by block and nothing else is asked for.
_BATCH_ROWS = 1000


def of_natural_size(request: Request, problem: Problem, task: str) -> Sets:
    """From rows in memory, all at once or batch by batch."""
    settings = request.settings
    n_rows, batch_size = problem.engine.n_rows, settings.batch_size
    batch_size = n_rows if batch_size is None else max(batch_size, problem.order + 1)
    batches = problem.batches(batch_size) if batch_size < n_rows else [problem]
    groups = range(0, len(batches), settings.accumulate)
    found = penalised.search(
        [batches[start : start + settings.accumulate] for start in groups],
        link=settings.link_for(task),
        penalty=settings.penalty,
        learning_rate=settings.learning_rate,
        max_iter=settings.max_iter,
        tol=settings.tol,
        n_epochs=settings.n_epochs,
        on_step=request.on_step,
    )
    return _positive(found)


def of_natural_size_passing(
    request: Request, columns: RowColumns, coefficients: Floats, task: str
) -> Sets:
    """The same while rows pass, one batch after the other."""
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.natural import NaturalSearch

    settings = request.settings
    descent = penalised.Descent(
        np.zeros(columns.n_features, np.float32),
        settings.link_for(task),
        settings.penalty,
        settings.learning_rate,
        settings.tol,
        request.on_step,
    )
    search = NaturalSearch(
        columns,
        coefficients=coefficients,
        descent=descent,
        batch_rows=(settings.batch_size or _BATCH_ROWS) * settings.accumulate,
        n_epochs=settings.n_epochs,
        max_iter=settings.max_iter,
    )
    return _positive(search.found())


def _positive(found: Found) -> Sets:
    chosen = np.flatnonzero(found.scores > 0)
    # A penalty that leaves nothing still leaves the best feature: transform needs a column.
    if len(chosen) == 0:
        chosen = np.array([np.argmax(found.scores)])
    scores = found.scores.astype(np.float64)
    return Sets([Subset(float(len(chosen)), chosen, scores, found.steps)], 0)
