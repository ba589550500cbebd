"""
Choose from files that do not fit into memory
=============================================

A *source* reads rows block by block, as often as needed: CSV, TSV, JSON lines and svmlight text
(also compressed), Parquet, Arrow and .npy files, arrays and frames. Memory grows with the size of
a block and the number of features, not with the number of rows.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from featgrad import FeatureGradientSelector, open_source
from featgrad.readers import convert

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.csv")
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 30)).round(4)
rows = pd.DataFrame(X, columns=[f"c{i}" for i in range(30)])
rows["y"] = X[:, 3] - X[:, 17] + rng.standard_normal(20_000)
rows.to_csv(path, index=False)

# %%
# ``fit_source`` takes the place of ``fit``. A fit that was interrupted resumes from its
# ``checkpoint`` when it is started again.
source = open_source(path, target="y")
selector = FeatureGradientSelector(2, path_sizes=[1, 2, 5, 10], random_state=0)
selector.fit_source(source, checkpoint=Path(folder.name, "fit.npz"))
print(selector.get_feature_names_out(), selector.learnability_)
selector.path_.plot()
plt.show()

# %%
# Invalid rows
# ------------
# An invalid row is an error with its line and the reason, unless such rows are to be skipped and
# counted.
with path.open("a") as file:
    file.write("1,2,3\n")
try:
    for _ in open_source(path, target="y"):
        pass
except ValueError as error:
    print(str(error).replace(folder.name, "."))
source = open_source(path, target="y", on_bad_rows="skip")
print(sum(len(block) for block in source), "rows,", source.skipped, "skipped")

# %%
# Parse once
# ----------
# Text is slow to parse. Written as Arrow, once, the rows are read at the speed of the disk.
converted = convert(source, Path(folder.name, "rows.arrow"))
print(converted.n_rows, "rows of", converted.n_features, "features")
folder.cleanup()

# %%
# The command
# -----------
# The command does all of this by itself. Data of up to 128 MB of values are held in memory and
# fitted as a whole; larger ones are read block by block, and gains, warnings and the report are
# then estimated from random rows::
#
#     featgrad convert rows.csv rows.arrow --target y --on-bad-rows skip
#     featgrad select rows.arrow -k 2 --report report.html --checkpoint fit.npz
