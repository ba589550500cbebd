"""Measures over the ratio of signal to noise, as the authors draw them."""

from benchmarks.helpers.best_subset.protocol import FAMILIES, RATIOS, Setting
from benchmarks.helpers.best_subset.summary import MEASURES, OURS, with_ours

BETA_TYPE, RHO = 2, 0.35


def curves(results):
    """{measure: {family: {method: a value for each ratio}}}: first columns, correlation 0.35."""
    found = with_ours(results)
    methods = list(dict.fromkeys(method for method, _ in found))

    def values(measure, family, method):
        settings = [Setting(family, BETA_TYPE, RHO, ratio) for ratio in RATIOS]
        return [found.get((method, one), {}).get(measure) for one in settings]

    return {
        measure: {family: {m: values(measure, family, m) for m in methods} for family in FAMILIES}
        for measure in MEASURES
    }


def draw_picture(drawn, path):
    """Shapes side by side, one measure below the other."""
    from benchmarks.helpers.drawing import plt, save

    figure, axes = plt.subplots(
        len(drawn), len(FAMILIES), figsize=(13, 7), sharex=True, squeeze=False
    )
    for line, (measure, families) in zip(axes, drawn.items(), strict=True):
        for ax, (family, methods) in zip(line, families.items(), strict=True):
            for method, values in methods.items():
                ours = {"color": "black", "linewidth": 2.5} if method == OURS else {}
                ax.plot(RATIOS, values, ".-", label=method, **{"linewidth": 1} | ours)
            ax.set_xscale("log")
            if line is axes[0]:
                ax.set_title("n = {}, p = {}".format(*FAMILIES[family]))
        line[0].set_ylabel(MEASURES[measure][0], fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("signal-to-noise ratio")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save(figure, path)
