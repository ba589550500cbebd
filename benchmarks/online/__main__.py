"""Online selection against peers: prequential AUC, kappa-temporal, stability, time.

    python -m benchmarks.online [--streams NAME ...] [--peers NAME ...] [--repeats N] [--out FOLDER]
    python -m benchmarks.online --development [--streams NAME ...] [--peers NAME ...] [--repeats N]

An online logistic regression on the chosen columns predicts each block of 100 rows before anybody
learns from it. Generated streams are binary; as many columns are chosen as matter, and `found` is
the share of those that matter at the time, mean over time. Streams and peers that are measured
again take the place of older figures. `no change` predicts the class of the row before:
kappa-temporal compares accuracies with its. The selector of river needs that package. Windows
and featgrad choose after every 200 rows, others after every block.

Constants of the selector are chosen with `--development` alone: on first halves of the real streams
and on seeds of generated ones that the table does not use. Nothing is recorded then.
"""

import argparse
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np

from benchmarks.helpers.online.judge import judge, no_change
from benchmarks.helpers.online.peers import PEERS
from benchmarks.helpers.online.streams import GENERATED, REAL
from benchmarks.helpers.progress import Progress
from benchmarks.helpers.quality.summary import row
from benchmarks.helpers.sources import locate

RESULTS = Path(__file__).resolve().parents[1] / "results" / "online"
STREAMS = GENERATED | REAL
FILES = {"imdb": "imdb_train_raw.tsv.xz"}
DEVELOPMENT_SEED = 100
FIGURES = ("auc", "accuracy", "kappa_temporal", "stability", "found", "microseconds_per_row")


def measure(name, peers, repeats, development, progress):
    """One entry for each peer: means over repeats and sizes."""
    results = {peer: [] for peer in peers}
    for seed in range(repeats if name in GENERATED else 1):
        stream = STREAMS[name](seed + (DEVELOPMENT_SEED if development else 0))
        if development and name in REAL:
            stream = stream.first_half()
        for peer in peers:
            sizes = stream.sizes if peer != "all columns" else stream.sizes[:1]
            results[peer] += [judge(stream, PEERS[peer], size) for size in sizes]
            progress.step(f"{name} {peer}: AUC {results[peer][-1]['auc']:.4f}")
    shape = {"rows": stream.X.shape[0], "columns": stream.X.shape[1], "sizes": stream.sizes}
    results["no change"] = [no_change(stream)]
    return [
        {"stream": name, "peer": peer, **shape, "repeats": seed + 1, **means(runs)}
        for peer, runs in results.items()
    ]


def means(runs):
    return {
        figure: round(float(np.mean([run[figure] for run in runs])), 4)
        for figure in FIGURES
        if runs[0].get(figure) is not None
    }


def markdown(results):
    lines = ["# Streams", ""]
    for name in dict.fromkeys(one["stream"] for one in results):
        own = [one for one in results if one["stream"] == name]
        first = own[0]
        sizes = ", ".join(map(str, first["sizes"]))
        seeds = f"; means of {first['repeats']} seeds" if first["repeats"] > 1 else ""
        lines.append(f"## {name}")
        lines.append("")
        lines.append(
            f"{first['rows']:,} rows, {first['columns']:,} columns, {sizes} chosen{seeds}."
        )
        lines += ["", row("", *FIGURES), row(*["---"] * (1 + len(FIGURES)))]
        for one in sorted(own, key=lambda entry: -entry["auc"]):
            fewer = f" ({one['repeats']} seeds)" if one["repeats"] < first["repeats"] else ""
            lines.append(
                row(one["peer"] + fewer, *(f"{one.get(f, float('nan')):.4g}" for f in FIGURES))
            )
        lines.append("")
    return "\n".join(lines).replace(" nan ", "  ")


def parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.online",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    installed = [p for p in PEERS if "river" not in p or importlib.util.find_spec("river")]
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=installed)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--development", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    warnings.simplefilter("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.json"
    known = json.loads(path.read_text()) if path.exists() and not options.development else []
    generated = sum(name in GENERATED for name in options.streams)
    runs = generated * options.repeats + len(options.streams) - generated
    progress = Progress(runs * len(options.peers))
    for name in options.streams:
        file = FILES.get(name, f"{name}.npz")
        if name in REAL and locate(file) is None:
            print(f"{file} is not there: left out")
            continue
        new = measure(name, options.peers, options.repeats, options.development, progress)
        merged = {(one["stream"], one["peer"]): one for one in [*known, *new]}
        order = list(STREAMS)
        known = sorted(merged.values(), key=lambda one: order.index(one["stream"]))
        if not options.development:
            path.write_text(json.dumps(known, indent=1) + "\n")
            (options.out / "summary.md").write_text(markdown(known))
    print(markdown(known))


if __name__ == "__main__":
    main()
