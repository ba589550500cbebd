"""
Follow which features matter on a stream
========================================

Rows arrive one after another, and what matters changes. :class:`~featgrad.OnlineFeatureSelector`
forgets rows with a half-life, replaces features only for more than chance, and raises an alarm when
predictions of rows not yet seen become worse ("alarm"), or when the set has shifted slowly so that
an earlier one predicts worse than the present one ("shift"). The rate of false alarms,
``alarm_rate``, also holds for rows that depend on those before.
"""

import matplotlib.pyplot as plt
import numpy as np

from featgrad import OnlineFeatureSelector

rng = np.random.default_rng(0)
X = rng.standard_normal((12_000, 300))
before, after = [10, 20, 30, 40], [30, 40, 50, 60]
first_half = np.arange(12_000) < 6_000
y = np.where(first_half, X[:, before].sum(axis=1), X[:, after].sum(axis=1))
y = y + 2 * rng.standard_normal(12_000)

selector = OnlineFeatureSelector(4, half_life=1000)
for start in range(0, 12_000, 300):  # blocks of any size give the same result
    rows = slice(start, start + 300)
    selector.partial_fit(X[rows], y[rows])
print("now:      ", selector.features_)
print("explained:", selector.learnability_, "of the recent rows, each predicted before it was seen")
for alarm in selector.alarms_:
    print(f"alarm after {alarm.row} rows: {alarm.left} left, {alarm.entered} entered")

# %%
# The darker a feature, the more would be lost without it; a dashed line is an alarm.
# :func:`~featgrad.report.write_stream_report` writes a page that also shows what was explained over
# time and names the features that explain more and less after each alarm, and so does ``featgrad
# watch --report``.
selector.timeline_.plot()
plt.show()

# %%
# Shorter half-lives follow changes sooner, longer ones find weaker features. Which of them predicts
# rows best, each before it is learned from?
print("half-life:", OnlineFeatureSelector(4).suggest_half_life(X, y))
