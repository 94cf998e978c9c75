"""Select the devices of a job and the precision of its models.

Snakemake counts GPUs but does not assign them, so two concurrent jobs would both use the first. Each job
therefore leases the GPUs that it needs (:func:`lease`), with one file lock per GPU. The operating system
releases the locks even if the job is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import logging
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textgamut.errors import DataError, ModelError, printable, reason
from textgamut.locks import LockedError, lock
from textgamut.validation import described

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

# Independent of TMPDIR: all users of a machine must see each other's leases.
LEASES = Path("/tmp/textgamut-gpus")  # noqa: S108
POLL = 1.0  # seconds between two attempts to lease GPUs
VISIBLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
_KEPT: list[contextlib.ExitStack] = []  # leases that last until the process ends


class Gpu(NamedTuple):
    """A GPU of this machine, or a slice of one (MIG)."""

    number: int
    """Index in ``nvidia-smi``; for a slice, the index of its GPU."""
    uuid: str
    """UUID, or the number if the UUID is unknown."""

    @property
    def name(self) -> str:
        """Name in ``CUDA_VISIBLE_DEVICES``: the number where possible, as vLLM requires."""
        return self.uuid if self.uuid.startswith("MIG-") else str(self.number)


@contextlib.contextmanager
def lease(gpus: int, wait: bool = True) -> Iterator[torch.device]:
    """Lease GPUs of this machine for a block, and wait until enough are free.

    Enter this context before anything initialises CUDA, including ``torch.cuda.is_available()``: within the
    block ``CUDA_VISIBLE_DEVICES`` contains only the leased GPUs, and CUDA reads it once. If the user has set
    the variable, only the GPUs that it lists are leased. In a Slurm job only the GPUs granted by Slurm are
    used. They are leased only if there are more of them than ``gpus``, for example if a whole run is executed
    inside one Slurm job.

    If the block initialises CUDA in this process, the lease lasts until the process ends, like the CUDA
    context, and later leases in the same process reuse it.

    GPUs are leased all at once or not at all, which avoids deadlocks between jobs. There is no queue: a job
    that needs many GPUs may wait long beside jobs that need one.

    Args:
        gpus: Number of GPUs; 0 for the CPU.
        wait: Whether to wait until enough GPUs are free. If False, the CPU is used instead, for short work
            that should not wait for hours of generation.

    Yields:
        ``cuda``, which refers to all leased GPUs, or ``cpu`` if ``gpus`` is 0 or no GPU is available on the
        machine, in ``CUDA_VISIBLE_DEVICES`` or in the Slurm job.

    Raises:
        TextgamutError: If there are GPUs, but fewer than requested, ``CUDA_VISIBLE_DEVICES`` lists a GPU that
            does not exist, or the lock files cannot be written.
    """
    import torch

    if gpus and _cuda_has_started():
        if not _KEPT:
            logger.warning("CUDA is already initialised in this process: its GPUs are used without a lease")
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
    """Lease GPUs until the stack is closed.

    Returns:
        The leased GPUs, an empty list to run on the CPU, or None if the environment needs no change.
    """
    value, slurm = os.environ.get(VISIBLE), os.environ.get("SLURM_JOB_ID")
    names = _names(value or "")
    if gpus and slurm and not names:
        logger.info("Slurm granted no GPU to this job: it runs on the CPU")
        return []
    if not gpus or (value is not None and not names):
        return []
    if slurm and len(names) == count:
        return None
    usable = _named(gpus, names) if names else gpus
    if len(usable) < count:
        where = f"Slurm job {slurm}" if slurm else f"{VISIBLE}={value}" if names else "this machine"
        raise ModelError(
            f"`gpus` of the model in models.yaml requests {count} GPUs, but {where} has {len(usable)}: "
            f"lower `gpus`, or run this on a machine with enough GPUs"
        )
    return _lock(count, usable, f"slurm-{slurm}-" if slurm else "", stack, wait)


def _lock(
    count: int, usable: Sequence[Gpu], prefix: str, stack: contextlib.ExitStack, wait: bool
) -> list[Gpu]:
    try:
        folder = _lease_folder()
        logged = False
        while True:
            taken: list[Gpu] = []
            # Without this lock, two jobs might hold half each.
            with lock(folder / "choosing.lock", shared=True), contextlib.ExitStack() as locks:
                for gpu in usable:
                    path = folder / f"{prefix}{gpu.uuid.replace('/', '_')}.lock"
                    with contextlib.suppress(LockedError):
                        locks.enter_context(lock(path, wait=False, shared=True))
                        taken.append(gpu)
                    if len(taken) == count:
                        stack.push(locks.pop_all())
                        return taken
            if not wait:
                logger.info("all GPUs are leased: this runs on the CPU")
                return []
            if not logged:
                holders = ", ".join(map(str, lease_holders())) or "unknown"
                logger.info("waiting for %d of %d GPUs: leased by processes %s", count, len(usable), holders)
                logged = True
            time.sleep(POLL)
    except OSError as error:
        raise ModelError(f"{error.filename or LEASES}: GPUs cannot be leased: {reason(error)}") from error


def _lease_folder() -> Path:
    """Return the folder of the lock files: one for all users or, if it is not safe, one for this user."""
    problem = _problem_of(LEASES, 0o1777)
    if problem is None:
        return LEASES
    own = _own_leases()
    if wrong := _problem_of(own, 0o700):
        raise ModelError(f"GPUs cannot be leased: {LEASES}: {problem}; {own}: {wrong}; delete either of them")
    message = "%s: %s: GPUs are leased in %s, where the leases of other users are not seen"
    logger.warning(message, LEASES, problem, own)
    return own


def _own_leases() -> Path:
    return LEASES.with_name(f"{LEASES.name}-{os.geteuid()}")


def _problem_of(folder: Path, mode: int) -> str | None:
    """Make a folder if nothing is in its place; return what is wrong with what is there.

    A folder belongs to this user, or to root with the sticky bit: any other owner could exchange its files.
    What is there is never changed, since it may be another user's link to something of this user.
    """
    try:
        os.mkdir(folder, mode)
    except FileExistsError:
        pass
    except OSError as error:
        return reason(error)
    else:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        os.fchmod(handle, mode)  # despite the umask
        os.close(handle)
    for _ in range(10):  # another process may be between its mkdir and its fchmod
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            return "a link" if stat.S_ISLNK(found.st_mode) else "not a folder"
        owner, found_mode = found.st_uid, stat.S_IMODE(found.st_mode)
        if owner not in ({os.geteuid(), 0} if mode & stat.S_ISVTX else {os.geteuid()}):
            return f"a folder of user {owner}"
        if found_mode == mode:
            return None
        time.sleep(0.02)
    return f"a folder with the mode {found_mode:04o}, instead of {mode:04o}"


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
    """Split a value of ``CUDA_VISIBLE_DEVICES`` as CUDA does: an invalid name, such as -1, ends the list."""
    names = map(str.strip, value.split(","))
    return list(dict.fromkeys(itertools.takewhile(re.compile(r"\d+$|GPU-|MIG-").match, names)))


def _named(gpus: Sequence[Gpu], names: Sequence[str]) -> list[Gpu]:
    """Return the GPUs with these numbers or UUIDs; like CUDA, accept abbreviated UUIDs."""
    found: list[Gpu] = []
    for name in names:
        if name.isdecimal():
            matching = [gpu for gpu in gpus if gpu.number == int(name)]
        else:
            matching = [gpu for gpu in gpus if gpu.uuid.startswith(name)]
        if not matching:
            there = ", ".join(f"{gpu.number} ({gpu.uuid})" for gpu in gpus)
            raise ModelError(f"{VISIBLE} names {name}, which is not a GPU of this machine; it has {there}")
        found += matching
    return list(dict.fromkeys(found))


def list_gpus() -> list[Gpu]:
    """Return the GPUs that torch can use on this machine, without initialising CUDA in this process."""
    import torch

    driver, cuda = cuda_driver(), torch.version.cuda
    if cuda and driver and int(cuda.split(".")[0]) > driver[0]:
        logger.warning("the NVIDIA driver is too old for this torch: no GPU is used (see textgamut doctor)")
        return []
    if not (cuda and driver) and not torch.version.hip:
        return []
    if command := shutil.which("nvidia-smi"):
        listed = subprocess.run([command, "-L"], capture_output=True, text=True)  # noqa: S603
        if listed.returncode == 0:
            return parse_listing(listed.stdout)
    # A container without nvidia-smi, or AMD GPUs: count with torch, in a separate process that starts CUDA.
    environment = {name: value for name, value in os.environ.items() if name != VISIBLE}
    code = "import torch; print(torch.cuda.device_count())"
    counted = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment | {ORDER: "PCI_BUS_ID"}
    )
    if counted.returncode:
        logger.warning("the GPUs of this machine cannot be counted, so none is used: %s", counted.stderr)
        return []
    return [Gpu(i, str(i)) for i in range(int(counted.stdout))]


def parse_listing(text: str) -> list[Gpu]:
    """Parse the output of ``nvidia-smi -L``; a GPU that is divided into slices (MIG) is listed as these."""
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
    """Return the ids of the processes that hold a lease on this machine, as far as visible to this user."""
    try:
        paths = [path for folder in (LEASES, _own_leases()) for path in folder.glob("*.lock")]
        files = {path.lstat().st_ino for path in paths if path.name != "choosing.lock"}
        locks = Path("/proc/locks").read_text()
    except OSError:
        return []
    rows = re.findall(r"FLOCK +\w+ +WRITE +(\d+) +[\da-f]+:[\da-f]+:(\d+) ", locks)
    return sorted({int(process) for process, inode in rows if int(inode) in files})


def cuda_driver() -> tuple[int, int] | None:
    """Return the highest CUDA version that the NVIDIA driver supports, even if torch has no CUDA."""
    version = ctypes.c_int()
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return divmod(version.value // 10, 100) if version.value else None


def _cuda_has_started() -> bool:
    """Return whether CUDA has read its environment in this process, even if torch does not know it yet."""
    import torch

    try:
        status = ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
    except (OSError, AttributeError):  # no NVIDIA driver
        return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
    return bool(status == 0)


def choose_device(name: str | torch.device | None = None) -> torch.device:
    """Return the named device. Defaults to the GPU visible to this process, or the CPU if there is none.

    Raises:
        DataError: If this machine has no device of that name.
    """
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not isinstance(name, str | torch.device):
        raise DataError(f"device: must be the name of a torch device, found {described(name)}")
    try:
        device = torch.device(name)
        torch.ones(1, device=device).cpu()  # fails without this device, or on `meta`, which has no numbers
    except Exception as error:  # each backend has its own types of exceptions
        reason = printable(str(error).strip().splitlines()[0])
        raise DataError(f"device: {str(name)!r} cannot be used: {reason}") from None
    return device


def range_hint(dtype: torch.dtype) -> str:
    """Return why numbers may not be finite that a model computes from finite weights."""
    if dtype.itemsize < 4:
        return f"{dtype} may be too narrow for this model: try float32"
    return "a value in the model's config.json, or one of its weights, is out of range"


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """Resolve a model's dtype setting on a device.

    Args:
        name: ``bfloat16``, ``float16``, ``float32`` or ``auto``.
        device: Device of the model; ``cuda`` without an index refers to all GPUs of this process.

    Returns:
        The dtype. On GPUs, ``auto`` is bfloat16 if all of them have compute capability 8.0 or higher, else
        float16. On a CPU it is bfloat16 if the CPU has instructions for it, else float32.
    """
    import torch

    if name != "auto":
        dtype: torch.dtype = getattr(torch, name)
        return dtype
    if device.type == "cuda":
        oldest = min(torch.cuda.get_device_capability(gpu) for gpu in _each(device))
        return torch.bfloat16 if oldest >= (8, 0) else torch.float16
    return torch.bfloat16 if _cpu_has_bfloat16() else torch.float32


def device_name(device: torch.device) -> str:
    """Return the name of a device for the metadata of outputs: the names of the GPUs, or ``cpu``."""
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
    """Return whether the CPU multiplies bfloat16 in hardware; emulated, it is slower than float32."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
