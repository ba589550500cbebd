"""Products of all pairs of columns of a Parquet file, compared with one pass for its covariance."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientConstructor, open_source
from featgrad.construct.prices import Residuals, best_pairs
from featgrad.dataset.memory import Preparation
from featgrad.dataset.source import Streamed
from featgrad.plan import BUILT, rows_to_price

COLUMNS, GROUP = 50, 100_000


def write(path, n_rows):
    """Five products among fifty columns, and noise of their variance."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(0, n_rows, GROUP):
            X = rng.standard_normal((GROUP, COLUMNS))
            y = (X[:, :10:2] * X[:, 1:10:2]).sum(axis=1) + 5**0.5 * rng.standard_normal(GROUP)
            columns = dict(zip([*names, "y"], [*X.T, y], strict=True))
            writer.write_table(pa.table(columns, schema=schema))


def figures(n_rows):
    """Processor seconds."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, n_rows)
        source = open_source(path, target="y")
        preparation = Preparation(
            4, "monotone", "regression", "zscore", "mean", np.random.RandomState(0), 12
        )
        rows = Streamed(source, preparation)
        rows.marginals([rows.whole])
        taken = [time.process_time()]
        rows.cell_moments(np.arange(COLUMNS))
        taken.append(time.process_time())
        some = rows.in_memory(rows_to_price(COLUMNS))
        values = some.X.astype(np.float32)
        sample = some.sample(np.zeros(1, np.intp), to_price=True)
        weights, nothing = sample.weights, np.zeros((len(sample.weights), 0))
        y = weights[:, None] * sample.outputs / sample.outputs.std()
        residuals = Residuals(np.arange(len(weights)), weights, y, nothing, y)
        list(best_pairs(values, values, residuals, BUILT, True))
        taken.append(time.process_time())
        constructor = FeatureGradientConstructor(5, operations="products", random_state=0)
        found = constructor.fit_source(source).get_feature_names_out()
        taken.append(time.process_time())
    covariance, pricing, fit = np.diff(taken)
    truth = {f"x{2 * i} * x{2 * i + 1}" for i in range(5)}
    return [
        Figure("pricing of all 1,275 products, compared with a covariance", pricing / covariance,
               "x", "<= 3"),
        Figure("rows that products are priced with", len(weights), "rows"),
        Figure("a pass for the covariance", covariance, "s"),
        Figure("a fit", fit, "s"),
        Figure("products found", len(truth & set(found)), "", ">= 5"),
    ]  # fmt: skip
