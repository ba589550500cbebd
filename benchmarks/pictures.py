"""The two pictures of the README: `python -m benchmarks.pictures`."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer

from benchmarks.helpers.builders import mnist35_noisy
from benchmarks.helpers.drawing import plt, save
from featgrad import FeatureGradientSelector
from featgrad.report import PathDisplay

FOLDER = Path(__file__).parents[1] / "docs" / "images"
MAP_SIZES = (10, 30, 100)


def draw_path():
    """Learnability against size for the breast cancer data, as on the first page of the docs."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = FeatureGradientSelector(6, path_sizes=[1, 2, 4, 8, 16, 30], random_state=0).fit(X, y)
    figure, ax = plt.subplots(figsize=(5, 3))
    PathDisplay.from_estimator(selector, ax=ax)
    save(figure, FOLDER / "path.svg")


def draw_maps():
    """Pixels that tell a noisy 3 from a noisy 5, beside the mean of each."""
    X, y, *_ = mnist35_noisy()
    figure, axes = plt.subplots(1, 2 + len(MAP_SIZES), figsize=(10, 2.4))
    for ax, digit in zip(axes, (3, 5), strict=False):
        _draw_pixels(ax, X[y == digit].mean(axis=0))
        ax.set_title(f"mean {digit}", fontsize=9)
    for ax, k in zip(axes[2:], MAP_SIZES, strict=True):
        selector = FeatureGradientSelector(k, random_state=0).fit(X, y)
        _draw_pixels(ax, selector.get_support())
        ax.set_title(f"{k} pixels explain {selector.learnability_.value:.0%}", fontsize=9)
    save(figure, FOLDER / "mnist.svg")


def _draw_pixels(ax, values):
    ax.imshow(values.reshape(28, 28), cmap="gray_r")
    ax.set(xticks=[], yticks=[])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw_path()
    draw_maps()
