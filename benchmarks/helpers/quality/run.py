"""Run selectors x sets x sizes, skipping the cells that are finished."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.helpers.peers import TIMED
from benchmarks.helpers.progress import Progress
from benchmarks.helpers.quality.cells import append_cell, identity, is_final, read_cells
from benchmarks.helpers.quality.evaluate import forest_score, linear_score
from benchmarks.helpers.quality.isolated import select_isolated


@dataclass(frozen=True)
class Grid:
    """What to run, and the file of finished cells.

    A set needs `name`, `kind`, `n_splits` and `splits()`; `sizes` are given by kind. The forest
    judges `forest_sizes` only.
    """

    path: Path
    sets: list
    selectors: list
    sizes: dict
    seed: int
    time_limit: float
    first_split_only: bool
    forest_sizes: tuple = ()


def run_grid(grid):
    """Run every cell that is not in the file yet; returns all cells of the file."""
    finished = {key for key, cell in read_cells(grid.path).items() if is_final(cell)}
    counts = [1 if grid.first_split_only else max(dataset.n_splits, 1) for dataset in grid.sets]
    progress = Progress(sum(counts) * len(grid.selectors))
    for dataset in grid.sets:
        for index, split in dataset.splits():
            if index > 0 and grid.first_split_only:
                break
            for selector in grid.selectors:
                cell = empty_cell(dataset, index, split, selector, grid)
                if identity(cell) in finished:
                    progress.step(f"{dataset.name} split {index} {selector}: done before")
                    continue
                cell = finish_cell(cell, split, grid)
                append_cell(grid.path, cell)
                progress.step(describe(cell))
    return list(read_cells(grid.path).values())


def empty_cell(dataset, index, split, selector, grid):
    """The part of a cell that is known before it runs."""
    rows, columns = split.X_train.shape
    return {
        "set": dataset.name,
        "kind": dataset.kind,
        "split": index,
        "rows": rows,
        "columns": columns,
        "selector": selector,
        "seed": grid.seed,
        "ks": [k for k in grid.sizes[dataset.kind] if k < columns],
    }


def finish_cell(cell, split, grid):
    """The finished cell: scores per size, seconds and bytes, or the reason why it is missing."""
    result = select_isolated(
        cell["selector"], split.X_train, split.y_train, cell["ks"], cell["seed"], grid.time_limit
    )
    if "missing" in result:
        return cell | result
    chosen = result.pop("chosen")
    judged = {} if cell["selector"] in TIMED else judge(split, chosen, grid.forest_sizes)
    return cell | judged | result


def judge(split, chosen, forest_sizes):
    """Scores by size of the linear judge, and of the forest for a few sizes."""
    few = {k: columns for k, columns in chosen.items() if int(k) in forest_sizes}
    return {
        "score": {k: round(linear_score(split, columns), 5) for k, columns in chosen.items()},
        "forest": {k: round(forest_score(split, columns), 5) for k, columns in few.items()},
    }


def describe(cell):
    """One line about a finished cell."""
    head = f"{cell['set']} split {cell['split']} {cell['selector']}"
    if "missing" in cell:
        return f"{head}: {cell['missing']}"
    costs = f"{cell['seconds']:.1f} s, {cell['peak_bytes'] >> 20} MB"
    if "score" not in cell:
        return f"{head}: {costs}"
    mean = sum(cell["score"].values()) / len(cell["score"])
    return f"{head}: mean score {mean:.4f}, {costs}"
