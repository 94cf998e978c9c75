"""A key-value cache that allocates memory ahead and is filled in place."""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import DynamicLayer

ROOM = 64
"""Number of tokens allocated ahead; transformers' own layer copies the whole cache at every token."""


class GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """The cache of one layer: ``keys`` and ``values``, (rows, heads, width, dimensions).

    Both are views of the beginning of larger tensors, which are filled in place. If a model is spread over
    several GPUs, they may be on another one than the indices.
    """

    keys: torch.Tensor
    values: torch.Tensor
    _stores: list[torch.Tensor]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the states of new tokens, and return all states."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._reserve(key_states[:, :, :0], value_states[:, :, :0], key_states.shape[2])
        width, new = self.keys.shape[2], key_states.shape[2]
        if width + new > self._stores[0].shape[2]:
            self._reserve(self.keys, self.values, new)
        for store, states in zip(self._stores, (key_states, value_states), strict=True):
            store[:, :, width : width + new] = states
        self._show(width + new)
        return self.keys, self.values

    def keep(self, rows: torch.Tensor, unused: int) -> None:
        """Keep only these rows, and drop the first ``unused`` columns."""
        rows = rows.to(self.keys.device)
        if unused:
            self._reserve(self.keys[rows, :, unused:], self.values[rows, :, unused:], 0)
        elif not torch.equal(rows, torch.arange(len(self.keys), device=rows.device)):
            width = self.keys.shape[2]
            self._stores = [store.index_select(0, rows) for store in self._stores]
            self._show(width)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep these rows, some of them several times: what beam search of transformers calls."""
        self.keep(beam_idx, 0)

    def keep_one(self, width: int, column: torch.Tensor) -> None:
        """Keep the first ``width`` columns and, for each row, the one at ``width + column`` (rows,)."""
        column = column.to(self.keys.device)
        row = torch.arange(len(column), device=column.device)
        for store in self._stores:
            store[:, :, width] = store[row, :, width + column]
        self._show(width + 1)

    def _reserve(self, keys: torch.Tensor, values: torch.Tensor, new: int) -> None:
        rows, heads, width, _ = keys.shape
        self._stores = [
            states.new_empty((rows, heads, width + new + ROOM, states.shape[3])) for states in (keys, values)
        ]
        for store, states in zip(self._stores, (keys, values), strict=True):
            store[:, :, :width] = states
        self._show(width)

    def _show(self, width: int) -> None:
        self.keys, self.values = (store[:, :, :width] for store in self._stores)
