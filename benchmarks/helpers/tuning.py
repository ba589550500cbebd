"""Choose a peer's setting on held-out training rows."""

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split


def class_auc(y, scores):
    """AUC of decision scores; the mean of one-vs-rest AUCs when there is a column per class."""
    if scores.ndim == 1:
        return roc_auc_score(y, scores)
    return np.mean([roc_auc_score(y == c, scores[:, c]) for c in range(scores.shape[1])])


def best_setting(settings, score, X, y, seed):
    """Setting with the best mean score on three held-out quarters of the rows.

    `score(setting, X_fit, y_fit, X_held, y_held)` fits on the first rows and scores the others.
    """
    totals = np.zeros(len(settings))
    for repeat in range(3):
        X_fit, X_held, y_fit, y_held = train_test_split(
            X, y, test_size=0.25, stratify=y, random_state=seed + repeat
        )
        totals += [score(setting, X_fit, y_fit, X_held, y_held) for setting in settings]
    return settings[int(np.argmax(totals))]
