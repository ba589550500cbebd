"""Matplotlib without a display, and figures that come out the same for the same numbers."""

import matplotlib

matplotlib.use("Agg")
# Text stays text (small files), and identifiers inside the file do not change from run to run.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "featgrad"

import matplotlib.pyplot as plt  # noqa: E402

__all__ = ["plt", "save"]


def save(figure, path):
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
