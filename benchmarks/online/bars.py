"""What is asked of the online selector: recovery after a change, speed, alarms.

    python -m benchmarks.online.bars

Speed is in rows per second of processor time. False alarms are means of three seeds, of twenty
where rows depend on each other or have heavy tails.
"""

import time
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.signal import lfilter

from benchmarks.helpers.record import RESULTS, Figure, record
from featgrad import OnlineFeatureSelector

COMMAND = "python -m benchmarks.online.bars"
CHANGES = (0.1, 0.2, 0.5)
STATIONARY = ("5 active", "10 active", "two classes", "sparse", "correlated", "300 columns", "weak")

# Correlations of neighbouring rows: of columns, and of noise.
DEPENDENT = {
    "AR(.9)": (0.9, 0.9),
    "AR(.97)": (0.97, 0.97),
    "AR(.99)": (0.99, 0.99),
    "columns AR(.99)": (0.99, 0.0),
    "noise AR(.99)": (0.0, 0.99),
}


def planted(rng, n_rows, n_columns, columns, signs):
    """Rows whose target is a signal of variance 1 and noise of variance 1."""
    X = rng.standard_normal((n_rows, n_columns))
    return X, X[:, columns] @ signs / np.sqrt(len(signs)) + rng.standard_normal(n_rows)


def recovery(seeds=3):
    """(recall 5,000 rows after a change, precision before it), 20 of 1,000 columns."""
    recalls, precisions = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        order, signs = rng.permutation(1000), rng.choice([-1, 1], 20)
        selector = OnlineFeatureSelector(20)
        for columns, shares in ((order[:20], precisions), (order[20:40], recalls)):
            for _ in range(10):
                selector.partial_fit(*planted(rng, 500, 1000, columns, signs))
            shares.append(np.isin(columns, selector.features_).mean())
    return float(np.mean(recalls)), float(np.mean(precisions))


def rows_per_second(X, y, block):
    selector = OnlineFeatureSelector(20, task="regression")
    start = time.process_time()
    for first in range(0, len(y), block):
        selector.partial_fit(X[first : first + block], y[first : first + block])
    return len(y) / (time.process_time() - start)


def hashed(rng, n_rows):
    """40 entries per row in a million columns, common ones more often."""
    ranks = rng.zipf(1.3, (n_rows, 40))
    indices = (ranks * 7919) % 1_000_000
    pointers = np.arange(0, 40 * n_rows + 1, 40)
    X = sp.csr_array((np.ones(indices.size), indices.ravel(), pointers), (n_rows, 1_000_000))
    X.sum_duplicates()
    return X, (ranks == 1).sum(axis=1) + rng.standard_normal(n_rows)


def stationary(kind, rng, n_rows):
    """Rows that are alike; 10 columns matter, of which all sets of 5 are as good."""
    n_active, n_columns = (5 if kind == "5 active" else 10), (300 if kind == "300 columns" else 20)
    X = rng.standard_normal((n_rows, n_columns))
    if kind == "correlated":
        X = 0.5 * X + rng.standard_normal((n_rows, 1))
    if kind == "sparse":
        X *= rng.random(X.shape) < 0.1
    share = 0.2 if kind == "weak" else 1.0
    y = share * X[:, :n_active].sum(axis=1) / np.sqrt(n_active) + rng.standard_normal(n_rows)
    y = (y > 0).astype(int) if kind == "two classes" else y
    return (sp.csr_array(X) if kind == "sparse" else X), y


def autoregression(rng, n_rows, n_columns, correlation):
    """Columns of variance 1 whose neighbouring rows are correlated."""
    noise = rng.standard_normal((n_rows, n_columns))
    noise[1:] *= np.sqrt(1 - correlation**2)
    return lfilter([1], [1, -correlation], noise, axis=0)


def dependent(kind, rng, n_rows):
    """Stationary rows of 20 columns that depend on those before; 10 columns matter."""
    of_columns, of_noise = DEPENDENT[kind]
    X = autoregression(rng, n_rows, 20, of_columns)
    y = X[:, :10].sum(axis=1) / np.sqrt(10) + autoregression(rng, n_rows, 1, of_noise)[:, 0]
    return X, y


def prices(is_target, rng, n_rows):
    """Independent rows of eight log-normal columns, skewed as prices; the target too, or not."""
    logs = (rng.standard_normal((n_rows, 8)) + rng.standard_normal((n_rows, 1))) / np.sqrt(2)
    noise = rng.standard_normal(n_rows)
    y = np.exp(1.5 * (logs[:, 0] + noise) / np.sqrt(2)) if is_target else logs[:, :3].sum(1) + noise
    return np.exp(1.5 * logs), y


def false_alarms(rows, seeds, n_rows, at_once):
    """Alarms and shifts where nothing changes, mean over seeds."""
    count = 0
    for seed in range(seeds):
        rng, selector = np.random.default_rng(seed), OnlineFeatureSelector(5)
        for _ in range(n_rows // at_once):
            selector.partial_fit(*rows(rng, at_once))
        count += len(selector.alarms_)
    return count / seeds


def false_alarms_of_dependent_rows():
    """Figures of 150,000 rows each, of which 0.15 are stated."""
    kinds = {kind: partial(dependent, kind) for kind in DEPENDENT}
    kinds |= {
        "prices as columns": partial(prices, False),
        "prices as target": partial(prices, True),
    }
    return [
        Figure(
            f"false alarms, {kind}", false_alarms(rows, 20, 150_000, at_once=150_000), "", "<= 0.3"
        )
        for kind, rows in kinds.items()
    ]


def delay(share):
    """Rows until the alarm after a share of the weights has turned round."""
    rng, selector = np.random.default_rng(0), OnlineFeatureSelector(20)
    before = np.ones(20)
    after = np.where(np.arange(20) < 20 * share, -1, 1)
    for signs in (before, after):
        selector.partial_fit(*planted(rng, 10_000, 100, np.arange(20), signs))
    rows = [alarm.row - 10_000 for alarm in selector.alarms_ if alarm.row > 10_000]
    return rows[0] if rows else np.inf


def main():
    recall, precision = recovery()
    rng = np.random.default_rng(0)
    dense = planted(rng, 20_000, 1000, np.arange(20), np.ones(20))
    few, many = tuple(part[:3000] for part in dense), hashed(rng, 20_000)
    rows_per_second(*(part[:1000] for part in many), 100)
    alarms = {
        kind: false_alarms(partial(stationary, kind), 3, 1_000_000, at_once=10_000)
        for kind in STATIONARY
    }
    record_all = [
        ("abrupt change, 20 of 1,000 columns, SNR 1", 10_000, [
            Figure("recall 5,000 rows after the change", recall, "", ">= 0.9"),
            Figure("precision before the change", precision, "", ">= 0.9"),
        ]),
        ("dense, 1,000 columns", 20_000, [
            Figure("blocks of 100", rows_per_second(*dense, 100), "rows/s", ">= 20000"),
        ]),
        ("dense, 1,000 columns", 3_000, [
            Figure("one row at a time", rows_per_second(*few, 1), "rows/s", ">= 1000"),
        ]),
        ("hashed, 1,000,000 columns, 40 entries per row", 20_000, [
            Figure("blocks of 100", rows_per_second(*many, 100), "rows/s", ">= 5000"),
        ]),
        ("stationary, 5 chosen, stated rate 1e-6", 1_000_000, [
            Figure(f"false alarms, {kind}", found, "", "<= 1") for kind, found in alarms.items()
        ]),
        ("stationary but dependent or heavy-tailed, 5 chosen, stated rate 1e-6", 150_000,
            false_alarms_of_dependent_rows()),
        ("weights that turn round", 20_000, [
            Figure(f"rows until the alarm, {share:.0%} of weights", delay(share), "rows")
            for share in CHANGES
        ]),
    ]  # fmt: skip
    for data, rows, figures in record_all:
        record(data, rows, COMMAND, figures, RESULTS / "online_bars", "Online selection")
        print(data, figures)


if __name__ == "__main__":
    main()
