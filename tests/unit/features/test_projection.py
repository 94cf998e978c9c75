"""Maps: all sets in one space, deterministic, and a PCA that equals scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from textgamut.errors import TextgamutError
from textgamut.features.projection import project_features


@pytest.fixture
def sets() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 6)).astype(np.float32) + shift for n, shift in ((30, 0), (20, 3), (10, -3))]


def test_pca_equals_scikit_learns_up_to_signs(sets: list[np.ndarray]) -> None:
    rows = np.concatenate(sets).astype(float)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    expected = PCA(2, svd_solver="full").fit_transform(rows)
    found = project_features(sets)
    assert found.shape == (60, 2)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6)


def test_the_map_does_not_depend_on_how_rows_are_divided_into_sets(sets: list[np.ndarray]) -> None:
    assert (project_features(sets) == project_features([np.concatenate(sets)])).all()


@pytest.mark.parametrize("projection", ["pca", "tsne", "umap"])
def test_groups_that_lie_apart_are_apart_on_the_map(sets: list[np.ndarray], projection) -> None:
    found = project_features(sets, projection)
    assert np.isfinite(found).all()
    assert (found == project_features(sets, projection)).all()
    _, second, third = np.split(found, [30, 50])
    assert np.linalg.norm(second.mean(0) - third.mean(0)) > second.std() + third.std()


def test_without_umap_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, sets: list[np.ndarray]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "umap", None)
    with pytest.raises(TextgamutError, match=r"pip install 'textgamut\[umap\]'"):
        project_features(sets, "umap")


def test_texts_that_are_all_alike_are_one_point() -> None:
    assert (project_features([np.ones((5, 3)), np.ones((4, 3))]) == 0).all()
    assert project_features([np.ones((5, 1))]).shape == (5, 2)


def test_other_widths_and_nan_are_refused() -> None:
    with pytest.raises(TextgamutError):
        project_features([np.ones((5, 3)), np.ones((4, 2))])
    with pytest.raises(TextgamutError):
        project_features([np.full((5, 3), np.nan)])
