"""Project features to two dimensions, for a map of texts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.config.experiment import Projection
from textgamut.errors import ConfigError
from textgamut.features.reduce import checked

REVISION = 1
"""Increase when the same features produce another map."""

PROJECTIONS: dict[Projection, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
"""Projection -> its name on the map."""


def project_features(sets: Sequence[ArrayLike], projection: Projection = "pca") -> NDArray[np.float32]:
    """Project all rows of several sets together to two dimensions.

    Rows are normalised to unit length first, as in ``reduce_features``. A map is only a picture: metrics and
    neighbours must come from the features themselves.

    Args:
        sets: Features, (N_i, d) each.
        projection: ``"pca"``, deterministic and linear; ``"tsne"`` or ``"umap"``, which keep neighbourhoods
            rather than distances, with the defaults of scikit-learn and of umap-learn and a fixed seed.

    Returns:
        (sum of N_i, 2) in the order of the sets, float32. The largest entry of each axis of a PCA is
        positive.

    Raises:
        ConfigError: If umap-learn is not installed.
        TextgamutError: If the features are not finite matrices of the same width.
    """
    first, *others = [np.asarray(features) for features in sets]
    for features in others or [first]:
        checked(first, features)
    rows = np.concatenate([first, *others]).astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(norms == 0, 1.0, norms)
    if projection == "pca" or len(rows) < 4:
        return _principal(rows)
    if projection == "tsne":
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (len(rows) - 1) / 3)
        return np.asarray(TSNE(perplexity=perplexity, random_state=0).fit_transform(rows), np.float32)
    try:
        from umap import UMAP
    except ImportError:
        raise ConfigError("projection: umap needs umap-learn: pip install 'textgamut[umap]'") from None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_jobs value", category=UserWarning)
        reducer = UMAP(n_neighbors=min(15, len(rows) - 1), random_state=0)
        return np.asarray(reducer.fit_transform(rows), np.float32)


def _principal(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the first two principal components; 0 where there is no variance."""
    centred = rows - rows.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    projected = np.zeros((len(rows), 2), np.float32)
    projected[:, : axes.shape[1]] = centred @ axes
    return projected
