"""Pages of benchmark results, made from what `benchmarks/results` holds."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
PAGES = HERE / "auto_benchmarks"
# What was recorded earlier was found by another search, and is set apart.
PRESENT_SEARCH = "2026-11-16"
OLDER = "Measured before the present search, and not run again since."


def write_benchmark_pages(*_):
    """One page for each benchmark, whether or not there are results of it, and a table of all."""
    PAGES.mkdir(exist_ok=True)
    listed = ["| what | measured by | recorded |", "| --- | --- | --- |"]
    for name, title, command, describe in BENCHMARKS:
        text = describe(RESULTS / name) or "Nothing is recorded yet."
        when = recorded(RESULTS / name)
        note = f"\n\n{OLDER}" if when < PRESENT_SEARCH else ""
        page = f"# {title}\n\nMeasured by `{command}`; recorded {when}.{note}\n\n{text.strip()}\n"
        (PAGES / f"{name}.md").write_text(page)
        listed.append(f"| [{title}]({name}.md) | `{command}` | {when} |")
    # Included by a page of the folder above.
    (PAGES / "measured.txt").write_text(
        "\n".join(listed).replace("](", "](auto_benchmarks/") + "\n"
    )


def recorded(folder):
    """Day and commit of the newest results."""
    command = ["git", "log", "-1", "--format=%cs, commit %h", "--", str(folder)]
    found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "never"


def quality(folder):
    """Tables of all sets, then who leads on each set and the curves over the number of columns."""
    if not (folder / "summary.json").exists():
        return None
    parts = [without_title(folder / "summary.md")]
    for kind, summed in json.loads((folder / "summary.json").read_text()).items():
        parts.append(f"## Each {kind} set by the number of columns")
        for name in summed["sets"]:
            curves = picture(folder / "plots" / f"score_{name}.svg")
            parts += [f"### {name}", standing(summed["mean_score"], name), curves]
    return "\n\n".join(parts)


def standing(table, name):
    """Who leads on a set, and where featgrad stands."""
    scores = {selector: sets[name] for selector, sets in table.items() if name in sets}
    ranked = sorted(scores, key=scores.get, reverse=True)
    text = f"Best of {len(ranked)}: {ranked[0]}, mean score {scores[ranked[0]]:.4f}"
    if "featgrad" in ranked[1:]:
        text += f"; featgrad is number {ranked.index('featgrad') + 1}, {scores['featgrad']:.4f}"
    return f"{text}."


def summary(folder):
    """The summary as it is."""
    page = folder / "summary.md"
    return without_title(page) if page.exists() else None


def synthetic(folder):
    """Tables of all designs, and their picture."""
    if not (folder / "summary.md").exists():
        return None
    return f"{without_title(folder / 'summary.md')}\n\n{picture(folder / 'exact_support.svg')}"


def best_subset(folder):
    """Tables of all settings, and a picture of some, drawn now."""
    if not (folder / "results.json").exists():
        return None
    sys.path.insert(0, str(HERE.parent))
    from benchmarks.helpers.best_subset.picture import BETA_TYPE, RHO, draw_picture

    drawn = json.loads((folder / "results.json").read_text())["drawn"]
    draw_picture(drawn, PAGES / "best_subset.svg")
    title = f"Coefficients of type {BETA_TYPE}, correlation {RHO}"
    shown = f"## {title}\n\n![best subset](best_subset.svg)"
    return f"{without_title(folder / 'summary.md')}\n\n{shown}"


def paper(folder):
    """Tables, then all pictures."""
    if not (folder / "summary.md").exists():
        return None
    pictures = "\n\n".join(picture(path) for path in sorted(folder.glob("*.svg")))
    return f"{without_title(folder / 'summary.md')}\n\n{pictures}"


def figures(folder):
    """Figures beside what is asked of them, with the day and the commit, older ones apart."""
    if not (folder / "results.json").exists():
        return None
    entries = json.loads((folder / "results.json").read_text())
    lines = (folder / "summary.md").read_text().splitlines()
    header, rows = lines[2:4], lines[4:]
    tables, commands = {True: [], False: []}, {}
    for entry, row, blamed in zip(entries, rows, blame(folder), strict=True):
        date, commit = entry.get("date", blamed[0]), entry.get("commit", blamed[1])
        # Hyphens at which no line breaks.
        shown = date.replace("-", "\N{NON-BREAKING HYPHEN}")
        tables[date >= PRESENT_SEARCH].append(f"{row} {shown}, {commit} |")
        commands[f"- `{entry['command']}`"] = None
    parts = []
    for is_present, title in ((True, None), (False, f"## Older\n\n{OLDER}")):
        if tables[is_present]:
            table = "\n".join([f"{header[0]} recorded |", f"{header[1]}---|", *tables[is_present]])
            parts += [title, table] if title else [table]
    return "\n\n".join([*parts, "## Commands", "\n".join(commands)])


def blame(folder):
    """Day and commit of each figure: of the line that holds its number."""
    path = folder / "results.json"
    measured = [line for line in path.read_text().splitlines() if line.startswith('  "measured"')]
    command = ["git", "blame", "-M", "--date=short", "--abbrev=6", "--", str(path)]
    told = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout
    found = re.findall(
        r'^\^?(\w+)[^(]*\(.*?(\d{4}-\d\d-\d\d) +\d+\)   "measured"', told, re.MULTILINE
    )
    return [(date, commit) for commit, date in found] or [("unknown", "")] * len(measured)


def without_title(page):
    return page.read_text().partition("\n")[2]


def picture(path):
    """The picture, copied beside the pages; nothing where it is not drawn."""
    if not path.exists():
        return ""
    shutil.copy(path, PAGES / path.name)
    return f"![{path.stem.replace('_', ' ')}]({path.name})"


BENCHMARKS = [
    ("quality", "Quality of chosen features", "make bench-quality", quality),
    ("synthetic", "Recovery of known columns", "python -m benchmarks.synthetic", synthetic),
    ("best_subset", "Best subset or lasso?", "python -m benchmarks.best_subset", best_subset),
    ("suppressors", "Suppressor pairs", "python -m benchmarks.suppressors", summary),
    ("error_control", "Error control", "python -m benchmarks.error_control", summary),
    ("honesty", "Are the numbers true?", "python -m benchmarks.honesty", figures),
    ("online", "Streams", "python -m benchmarks.online", summary),
    (
        "online_bars",
        "Streams: recovery, speed, alarms",
        "python -m benchmarks.online.bars",
        figures,
    ),
    ("tables", "Tables of packages", "python -m benchmarks.tables", summary),
    ("construct", "Constructed features", "python -m benchmarks.construct", summary),
    ("published", "Published tables", "make published", summary),
    ("paper", "The paper's figures", "make paper", paper),
    ("speed", "Speed", "make bench-speed", figures),
    ("gpu", "On a GPU", "python -m benchmarks.gpu", figures),
    ("dask", "On a Dask cluster", "python -m benchmarks.dask_cluster", figures),
    ("scale", "Larger than memory", "make bench-scale", figures),
    ("faults", "Faults", "python -m benchmarks.faults", figures),
]
