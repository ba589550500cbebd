"""The recipe of the documentation, on a local Spark."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from featgrad import FeatureGradientSelector

pd = pytest.importorskip("pandas")
sql = pytest.importorskip("pyspark.sql")
PAGE = Path(__file__).parents[1] / "docs" / "dask.md"


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
@pytest.mark.filterwarnings("ignore")
def test_partitions_are_added_to_shards_that_are_merged(monkeypatch, tmp_path):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 40))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(40)])
    frame["target"] = X[:, 1:21] @ np.linspace(1, 2, 20) + rng.standard_normal(3000)
    frame.to_parquet(tmp_path / "rows.parquet")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    try:
        rows = session.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
        rows = rows.filter("x0 > 100").union(rows)  # some partitions are empty
        (recipe,) = re.findall(r"## On Spark.*?```py\n(.*?)```", PAGE.read_text(), re.DOTALL)
        found = {"rows": rows}
        exec(recipe, found)
    finally:
        session.stop()
    expected = FeatureGradientSelector(20, random_state=0).fit(
        frame.drop(columns="target"), frame["target"]
    )
    chosen = found["selector"].get_feature_names_out()
    assert chosen.tolist() == expected.get_feature_names_out().tolist()
