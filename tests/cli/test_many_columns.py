"""More columns than squares of their number fit into memory."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from featgrad.cli import main

N_COLUMNS = 200_000


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((60, 3))
    noise = sparse.random(60, N_COLUMNS - 3, density=2e-4, random_state=0)
    path = str(tmp_path_factory.mktemp("wide") / "wide.svm")
    y = signal.sum(axis=1) + 0.3 * rng.standard_normal(60)
    dump_svmlight_file(sparse.hstack([noise, signal], format="csr"), y, path, zero_based=False)
    return path


def test_select_and_its_report_run(file: str, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["select", file, "--json", "-q", "--report", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["columns"]) >= {N_COLUMNS - 3, N_COLUMNS - 2, N_COLUMNS - 1}
    assert "unknown" in page.read_text()


@pytest.mark.parametrize("command", ["score", "path"])
def test_other_commands_run(command: str, file: str, capsys):
    assert main([command, file, "-q"]) == 0
    assert "0.000 to 1.000" not in capsys.readouterr().out
