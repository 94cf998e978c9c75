"""Contrastive search (Su et al. 2022), also adaptive (Garces Arias et al. 2024), in batches and with a cache.

The next token v of a row maximises (1 - alpha) p(v) - alpha max_j cos(h_v, h_j) among the k most probable
tokens, where h_v is the last hidden state at v if v is appended, and j runs over all tokens so far. One
forward pass processes all k candidates of a row at the same position: each attends to the row's past and to
itself, but not to the others. The past is therefore stored once per row instead of once per candidate. The
choice is made before the last layer, which computes logits of the chosen candidate only: it takes a fifth to
two thirds of the time of small models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textgamut.config.entries.decoding import MOST_ADAPTIVE, AdaptiveContrastiveSearchDecoding
from textgamut.errors import ConfigError
from textgamut.generation.sampling import check_finite

if TYPE_CHECKING:
    import torch

    from textgamut.config.entries.decoding import ContrastiveSearchDecoding
    from textgamut.generation.batch_rows import Rows


class ContrastiveChooser:
    """Choose the next token of each row and process it: ``logits`` are those after the chosen tokens."""

    def __init__(
        self,
        decoding: ContrastiveSearchDecoding | AdaptiveContrastiveSearchDecoding,
        rows: Rows,
        hidden: torch.Tensor,
    ) -> None:
        """Prepare for one batch.

        Args:
            decoding: The decoding setting.
            rows: The running rows, after the forward pass over their prompts.
            hidden: Last hidden states of the prompts (rows, width, dimensions).

        Raises:
            TextgamutError: If the model cannot process several candidates at one position.
        """
        from torch.nn.functional import normalize

        if not (rows.plain and rows.has_positions):
            raise ConfigError(
                f"contrastive search needs a model that accepts position ids and has only attention layers; "
                f"{type(rows.model).__name__} is not such a model: choose another decoding strategy for it"
            )
        self._rows = rows
        self._settings: _FixedSettings | _AdaptiveSettings
        if isinstance(decoding, AdaptiveContrastiveSearchDecoding):
            self._settings = _AdaptiveSettings(decoding.q, hidden)
        else:
            self._settings = _FixedSettings(decoding.k, decoding.alpha)
        self._past = normalize(hidden.float(), dim=-1)
        self.logits: torch.Tensor

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the next tokens, int64 (rows,), given float32 logits (rows, vocabulary)."""
        import torch
        from torch.nn.functional import normalize

        check_finite(logits)
        rows = self._rows
        k, alpha = self._settings(logits)
        # Of a fixed width, since torch's choice among tied tokens depends on it.
        width = min(self._settings.most, logits.shape[1])
        ordered = logits.softmax(dim=-1).topk(width, dim=-1)
        probability, candidates = (found[:, : int(k.max())] for found in ordered)
        likely = (1 - alpha) * probability
        too_many = torch.arange(candidates.shape[1], device=k.device) >= k
        likely = likely.masked_fill(too_many | (logits.gather(1, candidates) == -torch.inf), -torch.inf)
        chosen: list[torch.Tensor] = []

        def choose(_: Any, hidden: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            """Choose a candidate of each row by the hidden states, and return those of the chosen ones."""
            states = normalize(hidden[0].float(), dim=-1).to(self._past.device)
            similarity = states @ self._past.transpose(1, 2)
            similarity = similarity.masked_fill(rows.mask[:, None] == 0, -torch.inf).amax(dim=-1)
            best = (likely - alpha * similarity).argmax(dim=-1, keepdim=True)
            chosen.extend([best, states.take_along_dim(best[..., None], dim=1)])
            return (hidden[0].take_along_dim(best[..., None].to(hidden[0].device), dim=1),)

        options = {
            "input_ids": candidates,
            "attention_mask": _side_by_side(rows, candidates.shape[1]),
            "position_ids": rows.lengths[:, None].expand(candidates.shape),
            "past_key_values": rows.cache,
            "use_cache": True,
        }
        if rows.head is None:
            output = rows.model(**options, output_hidden_states=True)
            choose(None, (output.hidden_states[-1],))
            self.logits = output.logits.take_along_dim(chosen[0][..., None], dim=1)[:, 0].float()
        else:
            with rows.head.register_forward_pre_hook(choose):
                self.logits = rows.model(**options).logits[:, 0].float()
        best, states = chosen
        end = rows.ids.shape[1]
        for layer in rows.cache.layers:
            layer.keep_one(end, best[:, 0])
        tokens = candidates.gather(1, best)
        rows.ids = torch.cat([rows.ids, tokens], dim=1)
        rows.mask = torch.cat([rows.mask, rows.mask.new_ones((len(best), 1))], dim=1)
        self._past = torch.cat([self._past, states], dim=1)
        return tokens[:, 0]

    def keep(self, rows: torch.Tensor) -> None:
        """Keep only these rows; call this before ``keep`` of the running rows."""
        unused = int(self._rows.mask[rows].argmax(dim=1).min())
        self._past = self._past[rows, unused:]
        self.logits = self.logits[rows]
        self._settings.keep(rows)


class _FixedSettings:
    """The same k and alpha for all rows and steps."""

    def __init__(self, k: int, alpha: float) -> None:
        self.most, self._alpha = k, alpha

    def __call__(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return k and alpha, each (1, 1)."""
        import torch

        k = min(self.most, logits.shape[1])
        return torch.tensor([[k]], device=logits.device), torch.tensor([[self._alpha]], device=logits.device)

    def keep(self, rows: torch.Tensor) -> None:
        """Do nothing, since all rows have the same settings."""


class _AdaptiveSettings:
    """k and alpha that follow the entropy of each row's distribution (Garces Arias et al. 2024, section 3).

    The authors' code compares an entropy with those of all texts generated so far, so that their order
    matters. Here it is compared with the earlier steps of the same text.
    """

    most = MOST_ADAPTIVE

    def __init__(self, q: float, of: torch.Tensor) -> None:
        import torch

        self._q = q
        # Entropies of the earlier steps: of the whole distribution, and of the candidates.
        self._whole = self._head = of.new_zeros((len(of), 0), dtype=torch.float64)

    def __call__(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return k, int64, and alpha, each (rows, 1)."""
        import torch

        log_p = logits.double().log_softmax(dim=-1)
        whole = _entropy(log_p)
        greatest = torch.full_like(whole, log_p.shape[1]).log()
        k = (10 * self._followed(whole, self._whole, greatest) + 5).round().long()
        k = k.clamp(max=log_p.shape[1])
        top = logits.topk(min(self.most, log_p.shape[1]), dim=-1).values.double()
        top = top.masked_fill(torch.arange(top.shape[1], device=k.device) >= k, -torch.inf)
        head = _entropy(top.log_softmax(dim=-1))
        alpha = self._followed(head, self._head, k.double().log()).round(decimals=2)
        self._whole = torch.cat([self._whole, whole], dim=1)
        self._head = torch.cat([self._head, head], dim=1)
        return k, alpha.float()

    def keep(self, rows: torch.Tensor) -> None:
        """Keep only these rows."""
        self._whole, self._head = self._whole[rows], self._head[rows]

    def _followed(self, entropy: torch.Tensor, earlier: torch.Tensor, greatest: torch.Tensor) -> torch.Tensor:
        """Return sigmoid(q atanh(x)), x the difference from the median of the earlier steps (rows, 1)."""
        if not earlier.shape[1]:
            return entropy * 0 + 0.5
        x = (entropy - earlier.quantile(0.5, dim=1, keepdim=True)) / greatest
        # Below -1 if the earlier steps had more candidates; alpha is 0 then.
        found: torch.Tensor = (self._q * x.clamp(-1, 1).atanh()).sigmoid()
        return found


def _entropy(log_p: torch.Tensor) -> torch.Tensor:
    """Return the entropy in nats (rows, 1) of log-probabilities (rows, tokens)."""
    import torch

    found: torch.Tensor = torch.special.entr(log_p.exp()).sum(dim=-1, keepdim=True)
    return found


def _side_by_side(rows: Rows, k: int) -> Any:
    """Return the additive attention mask of k candidates: each attends to the past and to itself.

    Returns:
        (rows, 1, k, width + k); for a model with several kinds of layers, a mask for each kind.
    """
    import torch

    from textgamut.generation.batch_rows import layer_types

    count, width = rows.mask.shape
    past = rows.mask[:, None, None, :].bool().expand(count, 1, k, width)
    itself = torch.eye(k, dtype=torch.bool, device=past.device).expand(count, 1, k, k)
    dtype = rows.model.dtype

    def additive(seen: torch.Tensor) -> torch.Tensor:
        mask = torch.zeros((count, 1, k, width + k), dtype=dtype, device=seen.device)
        return mask.masked_fill_(~torch.cat([seen, itself], dim=-1), torch.finfo(dtype).min)

    def of_kind(kind: str) -> torch.Tensor:
        window = getattr(rows.model.config.get_text_config(), "sliding_window", None)
        if kind == "full_attention" or not window or width < window:
            return additive(past)
        # A token attends to itself and the window - 1 tokens before it.
        near = torch.arange(width, device=past.device) > width - window
        return additive(past & near)

    kinds = layer_types(rows.model)
    return of_kind(next(iter(kinds))) if len(kinds) == 1 else {kind: of_kind(kind) for kind in kinds}
