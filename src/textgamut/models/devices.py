"""Which devices a job runs on, and in which precision.

Snakemake counts GPUs but assigns none: left alone, two jobs at a time would both land on the first. So every
job leases the GPUs that it needs (:func:`lease`), by a lock on a file for each, which the operating system
frees however the job ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textgamut.errors import ModelError

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

# Of the machine: the same for all its users, whatever TMPDIR says, or they would not see each other's leases.
LEASES = Path("/tmp/textgamut-gpus")  # noqa: S108
POLL = 1.0  # seconds between two looks for a free GPU
VISIBLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
_KEPT: list[contextlib.ExitStack] = []  # leases that last until the process ends


class Gpu(NamedTuple):
    """A GPU of this machine, or a slice of one (MIG)."""

    number: int
    """As ``nvidia-smi`` counts; of a slice: that of its GPU."""
    uuid: str
    """Where there is no way to learn it: the number."""

    @property
    def name(self) -> str:
        """What ``CUDA_VISIBLE_DEVICES`` calls it: by number where that can be, for vLLM."""
        return self.uuid if self.uuid.startswith("MIG-") else str(self.number)


@contextlib.contextmanager
def lease(gpus: int, wait: bool = True) -> Iterator[torch.device]:
    """Lease GPUs of this machine for a block, waiting until enough are free.

    To be entered before anything starts CUDA, be it ``torch.cuda.is_available()``: in the block
    ``CUDA_VISIBLE_DEVICES`` holds the leased GPUs and no others, and CUDA reads it once. A variable that the
    user has set limits the choice. In a Slurm job the GPUs are those that Slurm granted; they are leased only
    if there are more of them than ``gpus``, as where a whole run goes on inside one Slurm job.

    If the block starts CUDA in this process, the lease lasts until the process ends, as CUDA's memory does,
    and a later one in the same process is the same.

    All or none are taken at a time, so two jobs never wait for each other. Whoever looks first when one
    becomes free has it; a job that wants many GPUs may wait for long beside jobs that want one.

    Args:
        gpus: How many; 0 for the CPU.
        wait: If not, the CPU is taken where not enough are free: for short work, which would else stand
            behind hours of generation.

    Yields:
        ``cuda``, which stands for all that are leased, or ``cpu``: for 0, and on a machine without a GPU (or
        where the user, or Slurm, gives none).

    Raises:
        TextgamutError: There are GPUs, but fewer than that; ``CUDA_VISIBLE_DEVICES`` names one that is not
            there; the lock files cannot be written.
    """
    import torch

    if gpus and _cuda_has_started():
        if not _KEPT:
            logger.warning("CUDA runs in this process already: its GPUs stay what they are, without a lease")
        yield choose_device()
        return
    with contextlib.ExitStack() as stack:
        taken = _take(gpus, list_gpus(), stack, wait) if gpus else []
        if taken is not None:
            _set_for(stack, {VISIBLE: ",".join(gpu.name for gpu in taken), ORDER: "PCI_BUS_ID"})
        try:
            yield torch.device("cpu" if taken == [] else "cuda")
        finally:
            if taken and _cuda_has_started():
                _KEPT.append(stack.pop_all())


def _take(count: int, gpus: list[Gpu], stack: contextlib.ExitStack, wait: bool) -> list[Gpu] | None:
    """Take that many GPUs, to be freed by the stack; none where there are none; None: leave all as it is."""
    value, slurm = os.environ.get(VISIBLE), os.environ.get("SLURM_JOB_ID")
    names = _names(value or "")
    if gpus and slurm and not names:
        logger.info("Slurm has granted this job no GPU: it runs on the CPU")
        return []
    if not gpus or (value is not None and not names):
        return []
    if slurm and len(names) == count:
        return None
    usable = _named(gpus, names) if names else gpus
    if len(usable) < count:
        where = f"Slurm job {slurm}" if slurm else f"{VISIBLE}={value}" if names else "this machine"
        raise ModelError(
            f"`gpus` of the model in models.yaml asks for {count} GPUs, but {where} has {len(usable)}: "
            f"lower `gpus`, or run this where there are as many"
        )
    return _lock(count, usable, f"slurm-{slurm}-" if slurm else "", stack, wait)


def _lock(
    count: int, usable: Sequence[Gpu], prefix: str, stack: contextlib.ExitStack, wait: bool
) -> list[Gpu]:
    from filelock import FileLock, Timeout

    try:
        LEASES.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):  # another user's; then it is open to all already
            LEASES.chmod(0o1777)
        told = False
        while True:
            taken: dict[Gpu, FileLock] = {}
            with FileLock(LEASES / "choosing.lock", mode=0o666):  # one at a time, or two might hold half each
                for gpu in usable:
                    lock = FileLock(LEASES / f"{prefix}{gpu.uuid.replace('/', '_')}.lock", mode=0o666)
                    with contextlib.suppress(Timeout):
                        lock.acquire(timeout=0)
                        taken[gpu] = lock
                    if len(taken) == count:
                        for lock in taken.values():
                            stack.callback(lock.release)
                        return list(taken)
                for lock in taken.values():
                    lock.release()
            if not wait:
                logger.info("all GPUs are leased: on the CPU")
                return []
            if not told:
                holders = ", ".join(map(str, lease_holders())) or "unknown"
                logger.info("waiting for %d of %d GPUs: leased by processes %s", count, len(usable), holders)
                told = True
            time.sleep(POLL)
    except PermissionError as error:
        raise ModelError(f"{error.filename}: GPUs cannot be leased: {error.strerror}") from error


def _set_for(stack: contextlib.ExitStack, values: dict[str, str]) -> None:
    """Set environment variables until the stack is closed."""
    for name, value in values.items():
        before = os.environ.get(name)
        if before is None:
            stack.callback(os.environ.pop, name, None)
        else:
            stack.callback(os.environ.__setitem__, name, before)
        os.environ[name] = value


def _names(value: str) -> list[str]:
    """Split a value of ``CUDA_VISIBLE_DEVICES`` as CUDA does: what is no name, such as -1, ends the list."""
    names = map(str.strip, value.split(","))
    return list(dict.fromkeys(itertools.takewhile(re.compile(r"\d+$|GPU-|MIG-").match, names)))


def _named(gpus: Sequence[Gpu], names: Sequence[str]) -> list[Gpu]:
    """Return the GPUs that have these numbers, or UUIDs, which CUDA takes shortened too."""
    found: list[Gpu] = []
    for name in names:
        if name.isdecimal():
            matching = [gpu for gpu in gpus if gpu.number == int(name)]
        else:
            matching = [gpu for gpu in gpus if gpu.uuid.startswith(name)]
        if not matching:
            there = ", ".join(f"{gpu.number} ({gpu.uuid})" for gpu in gpus)
            raise ModelError(f"{VISIBLE} names {name}, which is no GPU of this machine; it has {there}")
        found += matching
    return list(dict.fromkeys(found))


def list_gpus() -> list[Gpu]:
    """Return the GPUs that torch can use on this machine, without starting CUDA in this process."""
    import torch

    driver, cuda = cuda_driver(), torch.version.cuda
    if cuda and driver and int(cuda.split(".")[0]) > driver[0]:
        logger.warning("the NVIDIA driver is too old for this torch: no GPU is used (see textgamut doctor)")
        return []
    if not (cuda and driver) and not torch.version.hip:
        return []
    if command := shutil.which("nvidia-smi"):
        told = subprocess.run([command, "-L"], capture_output=True, text=True)  # noqa: S603
        if told.returncode == 0:
            return parse_listing(told.stdout)
    # A container without nvidia-smi, or AMD's: by torch, in a process of its own, in which CUDA may start.
    environment = {name: value for name, value in os.environ.items() if name != VISIBLE}
    code = "import torch; print(torch.cuda.device_count())"
    counted = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment | {ORDER: "PCI_BUS_ID"}
    )
    if counted.returncode:
        logger.warning("the GPUs of this machine cannot be counted, none is used: %s", counted.stderr)
        return []
    return [Gpu(i, str(i)) for i in range(int(counted.stdout))]


def parse_listing(text: str) -> list[Gpu]:
    """Read what ``nvidia-smi -L`` prints; of a GPU that is cut into slices (MIG), the slices."""
    gpus: list[Gpu] = []
    whole: Gpu | None = None
    for line in text.splitlines():
        if found := re.match(r"GPU (\d+): .*\(UUID: (GPU-[^)]+)\)", line):
            whole = Gpu(int(found[1]), found[2])
            gpus.append(whole)
        elif whole and (found := re.match(r"\s+MIG .*\(UUID: (MIG-[^)]+)\)", line)):
            gpus = [gpu for gpu in gpus if gpu != whole] + [Gpu(whole.number, found[1])]
    return gpus


def lease_holders() -> list[int]:
    """Return the processes that hold a lease on this machine, as far as this user sees processes."""
    try:
        files = {path.stat().st_ino for path in LEASES.glob("*.lock") if path.name != "choosing.lock"}
        locks = Path("/proc/locks").read_text()
    except OSError:
        return []
    rows = re.findall(r"FLOCK +\w+ +WRITE +(\d+) +[\da-f]+:[\da-f]+:(\d+) ", locks)
    return sorted({int(process) for process, inode in rows if int(inode) in files})


def cuda_driver() -> tuple[int, int] | None:
    """Return the highest version of CUDA that the NVIDIA driver serves, also to a torch without CUDA."""
    version = ctypes.c_int()
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return divmod(version.value // 10, 100) if version.value else None


def _cuda_has_started() -> bool:
    """Tell whether CUDA has read its environment in this process; torch may not know it yet."""
    import torch

    try:
        asked = ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
    except (OSError, AttributeError):  # no NVIDIA driver
        return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
    return bool(asked == 0)


def choose_device(name: str | None = None) -> torch.device:
    """Return the device of that name; none given: the GPU of this process's environment, else the CPU."""
    import torch

    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def choose_dtype(wish: str, device: torch.device) -> torch.dtype:
    """Resolve a model's dtype rule on a device.

    Args:
        wish: ``bfloat16``, ``float16``, ``float32`` or ``auto``.
        device: Where the model will run; ``cuda`` without a number is all GPUs of this process.

    Returns:
        For ``auto``: on a GPU bfloat16 from compute capability 8.0 on, else float16; of several, the oldest
        decides. On a CPU bfloat16 where it has the instructions, else float32.
    """
    import torch

    if wish != "auto":
        dtype: torch.dtype = getattr(torch, wish)
        return dtype
    if device.type == "cuda":
        oldest = min(torch.cuda.get_device_capability(gpu) for gpu in _each(device))
        return torch.bfloat16 if oldest >= (8, 0) else torch.float16
    return torch.bfloat16 if _cpu_has_bfloat16() else torch.float32


def device_name(device: torch.device) -> str:
    """Return what a device is called, for the record: the GPUs' names, or ``cpu``."""
    import torch

    if device.type != "cuda":
        return device.type
    names = [torch.cuda.get_device_name(gpu) for gpu in _each(device)]
    counts = {name: names.count(name) for name in names}
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in counts.items())


def _each(device: torch.device) -> list[torch.device]:
    import torch

    if device.index is not None:
        return [device]
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]


def _cpu_has_bfloat16() -> bool:
    """Tell whether the CPU multiplies bfloat16 in hardware: emulated, it is slower than float32."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
