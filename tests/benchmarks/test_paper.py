from benchmarks.helpers.paper.summary import markdown, mean_auc


def cell(name: str, selector: str, split: int, *auc: float) -> dict:
    return {"set": name, "selector": selector, "split": split, "score": dict(enumerate(auc))}


CELLS = [
    cell("digits", "anova", 0, 0.7, 0.8),
    cell("digits", "anova", 1, 0.9, 0.9),
    cell("digits", "featgrad_paper", 0, 0.8, 0.8),
    cell("digits", "featgrad", 0, 0.8, 0.9),
    cell("clicks", "mission", 0, 0.6, 0.6),
    {"set": "clicks", "selector": "featgrad", "split": 0, "missing": "over the limit"},
]


def test_means_are_over_the_samples_that_all_have():
    means = mean_auc(CELLS, "digits", ("anova", "featgrad"))
    assert {selector: round(mean, 4) for selector, mean in means.items()} == {
        "anova": 0.75,
        "featgrad": 0.85,
    }


def test_what_did_not_run_has_a_dash():
    selectors = ("anova", "featgrad_paper", "featgrad")
    tests = {"digits featgrad": {"anova": 0.012}}
    page = markdown(CELLS, ["digits"], ["clicks"], selectors, ("featgrad_paper",), tests)
    assert "| anova | 0.7500 |" in page
    assert "| digits featgrad | anova | 0.012 |" in page
    assert "| order 1 | 0.8000 |" in page
    assert "| mission | 0.6000 |" in page
    assert page.endswith("| featgrad | - |\n")
