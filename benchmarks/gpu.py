"""`python -m benchmarks.gpu [kernels] [fits] [blocks] ..`: figures beside their bars."""

from __future__ import annotations

import sys

from benchmarks.helpers.gpu import construct, fits, kernels, webspam
from benchmarks.helpers.record import RESULTS, record

PARTS = {
    "kernels": kernels.figures,
    "fits": fits.figures,
    "blocks": fits.large_figures,
    "construct": construct.figures,
    "webspam": webspam.pricing,
    "webspam_fits": webspam.fits,
}


def main(names: list[str]) -> None:
    for name in names or PARTS:
        for about, rows, figures in PARTS[name]():
            for figure in figures:
                asked = f" (asked {figure.asked})" if figure.asked else ""
                told = f"{figure.bar} {figure.measured:.3g} {figure.unit}{asked}"
                print(f"{rows:,} rows, {about}: {told}", flush=True)
            record(
                about,
                rows,
                f"python -m benchmarks.gpu {name}",
                figures,
                RESULTS / "gpu",
                "On a GPU",
            )


if __name__ == "__main__":
    main(sys.argv[1:])
