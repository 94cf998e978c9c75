"""Which device a job runs on, and in which precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def choose_device(name: str | None = None) -> torch.device:
    """Return the device of that name; none given: the GPU of this process's environment, else the CPU."""
    import torch

    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def choose_dtype(wish: str, device: torch.device) -> torch.dtype:
    """Resolve a model's dtype rule on a device.

    Args:
        wish: ``bfloat16``, ``float16``, ``float32`` or ``auto``.
        device: Where the model will run.

    Returns:
        For ``auto``: on a GPU bfloat16 from compute capability 8.0 on, else float16; on a CPU bfloat16
        where it has the instructions, else float32.
    """
    import torch

    if wish != "auto":
        dtype: torch.dtype = getattr(torch, wish)
        return dtype
    if device.type == "cuda":
        modern = torch.cuda.get_device_capability(device) >= (8, 0)
        return torch.bfloat16 if modern else torch.float16
    return torch.bfloat16 if _cpu_has_bfloat16() else torch.float32


def device_name(device: torch.device) -> str:
    """Return what a device is called, for the record: the GPU's name, or ``cpu``."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _cpu_has_bfloat16() -> bool:
    """Tell whether the CPU multiplies bfloat16 in hardware: emulated, it is slower than float32."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
