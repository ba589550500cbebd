"""IMDb reviews as words, pairs and triples of words: 25,000 rows, five million columns.

    python -m benchmarks.scale.imdb [--no-mission]

Test AUC of the harness's judge at several sizes for ours, ANOVA F and MISSION, and the time of the
selection beside that of counting the words. Needs the raw texts (see benchmarks/README.md).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import f_classif

from benchmarks.helpers import peers
from benchmarks.helpers.quality.evaluate import linear_score
from benchmarks.helpers.record import Figure, record
from benchmarks.helpers.sources import read_texts
from benchmarks.helpers.splitting import Split
from featgrad import FeatureGradientSelector

SIZES = (22, 100, 1_000, 10_000)


def ours(X, y) -> dict:
    selector = FeatureGradientSelector(SIZES[0], path_sizes=SIZES[1:], random_state=0).fit(X, y)
    return {point.size: point.features for point in selector.path_}


def anova(X, y) -> dict:
    order = np.argsort(-np.nan_to_num(f_classif(X, y)[0]), kind="stable")
    return {size: order[:size] for size in SIZES}


def mission(X, y) -> dict:
    return peers.by_mission(X, y, SIZES, seed=0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.imdb")
    parser.add_argument("--no-mission", action="store_true", help="leave out the slowest part")
    options = parser.parse_args()
    (train, train_texts), (test, test_texts) = (
        read_texts(f"imdb_{part}_raw") for part in ("train", "test")
    )
    words = CountVectorizer(ngram_range=(1, 3), binary=True, dtype=np.float32)
    start, before = time.perf_counter(), time.process_time()
    X = words.fit_transform(train_texts)
    counting, counting_cpu = time.perf_counter() - start, time.process_time() - before
    test_words = words.transform(test_texts)
    split = Split(X, train.astype(int) >= 7, test_words, test.astype(int) >= 7)
    print(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} entries, counted in {counting:.0f} s")
    selectors = {"featgrad": ours, "ANOVA F": anova, "MISSION": mission}
    if options.no_mission:
        del selectors["MISSION"]
    found, times = {}, {}
    for name, select in selectors.items():
        start, before = time.perf_counter(), time.process_time()
        chosen = select(split.X_train, split.y_train)
        seconds, spent = time.perf_counter() - start, time.process_time() - before
        found[name] = aucs = [linear_score(split, np.sort(chosen[size])) for size in SIZES]
        print(
            f"{name:9}", *(f"{size}: {auc:.4f}" for size, auc in zip(SIZES, aucs, strict=True)),
            f"in {seconds:.0f} s, {seconds / counting:.2f}x the counting"
            f" ({spent / counting_cpu:.2f}x in CPU time)", flush=True,
        )  # fmt: skip
        times[name] = seconds / counting
    figures = [Figure("whole run beside counting the words", times["featgrad"], "x", "<= 3")]
    for i, size in enumerate(SIZES):
        best = max(aucs[i] for name, aucs in found.items() if name != "featgrad")
        bar = f"test AUC of {size} features"
        figures.append(Figure(bar, found["featgrad"][i], "", f"> {best:.4f}"))
        others = found.keys() - {"featgrad"}
        figures += [Figure(f"{bar}, {name}", found[name][i], "") for name in others]
    command = "python -m benchmarks.scale.imdb" + " --no-mission" * options.no_mission
    record("IMDb words, pairs and triples", X.shape[0], command, figures)


if __name__ == "__main__":
    main()
