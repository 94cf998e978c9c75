"""GPU leases, by real processes on GPUs that are only listed; the rule of the dtype; models over devices."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from helpers import GIVE_UP

from textgamut.errors import TextgamutError
from textgamut.models import checkpoints, devices
from textgamut.models.devices import Gpu, choose_dtype, device_name, lease, lease_holders, parse_listing

LISTING = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-a1b2c3d4-0000-1111-2222-333344445555)
"""
SLICED = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)
  MIG 3g.40gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)
  MIG 3g.40gb     Device  1: (UUID: MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-a1b2c3d4-0000-1111-2222-333344445555)
"""


def machine(count: int) -> list[Gpu]:
    return [Gpu(i, f"GPU-{i}{i}{i}{i}-uuid") for i in range(count)]


@pytest.fixture(autouse=True)
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of this test's own, a fast look for free GPUs, nothing set by the user or Slurm."""
    monkeypatch.setattr(devices, "LEASES", tmp_path / "leases")
    monkeypatch.setattr(devices, "POLL", 0.05)
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[Gpu]], None]:
    monkeypatch.setattr(devices, "_cuda_has_started", lambda: False)  # an earlier test may have used a GPU
    return lambda gpus: monkeypatch.setattr(devices, "list_gpus", lambda: list(gpus))


def visible() -> str | None:
    return os.environ.get("CUDA_VISIBLE_DEVICES")


# --- what is leased -----------------------------------------------------------------------------------


def test_a_lease_shows_one_gpu_and_leaves_no_trace(listed) -> None:
    listed(machine(2))
    with lease(1) as device:
        assert device == torch.device("cuda")
        assert (visible(), os.environ["CUDA_DEVICE_ORDER"]) == ("0", "PCI_BUS_ID")
    assert visible() is None
    assert "CUDA_DEVICE_ORDER" not in os.environ
    with lease(2):
        assert visible() == "0,1"


def test_a_lease_ends_with_an_error(listed) -> None:
    listed(machine(1))
    with pytest.raises(KeyError), lease(1):
        raise KeyError
    with lease(1):
        assert visible() == "0"


def test_zero_gpus_hide_all(listed, monkeypatch) -> None:
    listed(machine(2))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with lease(0) as device:
        assert (device.type, visible()) == ("cpu", "")
    assert visible() == "1"


@pytest.mark.parametrize("gpus", [1, 4])
def test_a_laptop_without_a_gpu_uses_its_cpu(listed, gpus) -> None:
    listed([])
    with lease(gpus) as device:
        assert device.type == "cpu"


def test_this_machine_can_be_asked() -> None:
    with lease(1) as device:  # whatever there is here
        assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_more_gpus_than_there_are_name_the_setting(listed, monkeypatch) -> None:
    listed(machine(2))
    with (
        pytest.raises(TextgamutError, match=r"`gpus` of the model .* 3 GPUs, but this machine has 2"),
        lease(3),
    ):
        pass
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with pytest.raises(TextgamutError, match="CUDA_VISIBLE_DEVICES=1 has 1"), lease(2):
        pass
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    with pytest.raises(TextgamutError, match="Slurm job 77 has 1"), lease(2):
        pass


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("2", "2"),
        ("3,2", "3"),
        (" 2 , 3 ", "2"),
        ("GPU-2222", "2"),
        ("GPU-3333-uuid,GPU-1111-uuid", "3"),
        ("1,-1,0", "1"),
        ("", ""),
        ("-1", ""),
        ("NoDevFiles", ""),
    ],
)
def test_what_the_user_names_limits_the_choice(listed, monkeypatch, named, shown) -> None:
    listed(machine(4))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    with lease(1) as device:
        assert (device.type, visible()) == ("cuda" if shown else "cpu", shown)


@pytest.mark.parametrize("named", ["4", "0,9", "GPU-9999", "MIG-1"])
def test_a_gpu_that_is_not_there_is_named(listed, monkeypatch, named) -> None:
    listed(machine(4))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    with (
        pytest.raises(TextgamutError, match=rf"names {named.split(',')[-1]}, .* it has 0 \(GPU-0000-uuid\)"),
        lease(1),
    ):
        pass


def test_slices_are_gpus(listed, monkeypatch) -> None:
    listed(parse_listing(SLICED))
    with lease(1):
        assert visible() == "MIG-c7384736-a75d-5afc-978f-d2f1294409fd"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d")
    with lease(1):
        assert visible() == "MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with lease(1):
        assert visible() == "1"


def test_listings_are_read() -> None:
    assert [gpu.name for gpu in parse_listing(LISTING)] == ["0", "1"]
    assert parse_listing(LISTING)[1].uuid == "GPU-a1b2c3d4-0000-1111-2222-333344445555"
    assert [(gpu.number, gpu.name[:8]) for gpu in parse_listing(SLICED)] == [
        (0, "MIG-c738"), (0, "MIG-a28a"), (1, "1"),
    ]  # fmt: skip
    assert parse_listing("No devices found.\n") == []


def test_nvidia_smi_is_asked_where_torch_can_use_a_gpu(tmp_path, monkeypatch) -> None:
    """A command that prints a listing stands in for it; torch is told that it is built for CUDA."""
    command = tmp_path / "nvidia-smi"
    command.write_text(f'#!/bin/sh\n[ "$1" = -L ] && cat <<END\n{LISTING}END\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(devices, "cuda_driver", lambda: (12, 8))
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    assert devices.list_gpus() == parse_listing(LISTING)
    monkeypatch.setattr(torch.version, "cuda", "13.0")  # newer than the driver
    assert devices.list_gpus() == []
    monkeypatch.setattr(torch.version, "cuda", None)
    assert devices.list_gpus() == []
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    command.write_text("#!/bin/sh\nexit 9\n")  # torch itself is asked, in a process of its own
    assert len(devices.list_gpus()) == torch.cuda.device_count()


# --- Slurm --------------------------------------------------------------------------------------------


def test_what_slurm_grants_is_taken_without_a_lease(listed, monkeypatch) -> None:
    listed(machine(4))
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    with lease(2) as device, lease(2):  # no lock: a second one would wait for ever
        assert (device.type, visible()) == ("cuda", "2,3")
    assert not devices.LEASES.exists()


@pytest.mark.parametrize("granted", [None, "", "NoDevFiles"])
def test_a_slurm_job_without_gpus_takes_nobodys(listed, monkeypatch, granted) -> None:
    listed(machine(4))
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    if granted is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", granted)
    with lease(1) as device:
        assert (device.type, visible()) == ("cpu", "")


def test_a_run_inside_one_slurm_job_shares_its_gpus(listed, monkeypatch, tmp_path) -> None:
    listed(machine(4))
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    with holder(tmp_path, 4, 1) as (_, shown):
        assert shown == "2"
        with lease(1):
            assert visible() == "3"


# --- processes ----------------------------------------------------------------------------------------

# Without torch, whose import takes seconds: a lease only names its device by it.
HOLDER = """
import logging, os, sys, time, types
from pathlib import Path
from textgamut.models import devices
folder, gpus, wanted, turns, seconds, user = sys.argv[1:]
os.setuid(int(user)) if int(user) else None
os.umask(0o077)
logging.basicConfig(level=logging.INFO)
sys.modules["torch"] = types.SimpleNamespace(device=str)
devices._cuda_has_started = lambda: False
devices.LEASES, devices.POLL = Path(folder), 0.02
devices.list_gpus = lambda: [devices.Gpu(i, f"GPU-{i}{i}{i}{i}-uuid") for i in range(int(gpus))]
def log(what): print(what, os.environ["CUDA_VISIBLE_DEVICES"], time.monotonic(), flush=True)
for turn in range(int(turns)):
    with devices.lease(int(wanted)):
        log("has")
        time.sleep(float(seconds))
        log("frees")
"""


def start(
    leases: Path, gpus: int, wanted: int, turns: int = 1, seconds: float = 600, user: int = 0
) -> subprocess.Popen[str]:
    arguments = map(str, (leases, gpus, wanted, turns, seconds, user))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", HOLDER, *arguments], **pipes, text=True)


class holder:  # noqa: N801 (used as a function)
    """A process that holds a lease until it is killed."""

    def __init__(self, tmp_path: Path, gpus: int, wanted: int) -> None:
        self.process = start(tmp_path / "leases", gpus, wanted)

    def __enter__(self) -> tuple[subprocess.Popen[str], str]:
        assert self.process.stdout
        return self.process, self.process.stdout.readline().split()[1]

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_two_processes_have_different_gpus(tmp_path, listed) -> None:
    listed(machine(3))
    with holder(tmp_path, 3, 1) as (first, one), holder(tmp_path, 3, 1) as (second, other):
        assert {one, other} == {"0", "1"}
        assert lease_holders() == sorted([first.pid, second.pid])
        with lease(1):
            assert visible() == "2"


def test_short_work_does_not_wait(tmp_path, listed) -> None:
    listed(machine(2))
    with lease(1, wait=False) as device:
        assert (device.type, visible()) == ("cuda", "0")
    with holder(tmp_path, 2, 2), lease(1, wait=False) as device:
        assert (device.type, visible()) == ("cpu", "")


def test_a_killed_holder_frees_its_gpu(tmp_path, listed, caplog) -> None:
    listed(machine(1))
    caplog.set_level("INFO", logger="textgamut")
    with holder(tmp_path, 1, 1) as (process, _):
        waiter = start(tmp_path / "leases", 1, 1)
        try:
            assert waiter.stderr
            assert f"waiting for 1 of 1 GPUs: leased by processes {process.pid}" in waiter.stderr.readline()
            assert waiter.poll() is None
            os.kill(process.pid, signal.SIGKILL)
            killed = time.monotonic()
            assert waiter.stdout
            assert waiter.stdout.readline().startswith("has 0")
            assert time.monotonic() - killed < 30
        finally:
            waiter.kill()
            waiter.communicate()


def test_none_waits_for_ever_and_no_gpu_has_two_owners(tmp_path) -> None:
    """Four processes want 2, 2, 1 and 3 of three GPUs, eight times each: half-taken, they would block."""
    workers = [start(tmp_path / "leases", 3, wanted, turns=8, seconds=0.02) for wanted in (2, 2, 1, 3)]
    try:
        outputs = [worker.communicate(timeout=GIVE_UP)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    spans: list[tuple[float, float, set[str]]] = []
    for output, wanted in zip(outputs, (2, 2, 1, 3), strict=True):
        rows = [line.split() for line in output.splitlines()]
        assert len(rows) == 16
        for has, frees in zip(rows[::2], rows[1::2], strict=True):
            names = set(has[1].split(","))
            assert len(names) == wanted
            spans.append((float(has[2]), float(frees[2]), names))
    for i, (begin, end, names) in enumerate(spans):
        for other_begin, other_end, other in spans[:i]:
            assert end <= other_begin or other_end <= begin or not names & other


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
def test_the_users_of_a_machine_see_each_others_leases() -> None:
    folder = Path("/tmp") / f"textgamut-test-{os.getpid()}"  # noqa: S108 (one that all users can enter)
    folder.mkdir()
    folder.chmod(0o1777)
    first = start(folder, 1, 1, user=65501)
    try:
        assert first.stdout
        assert first.stdout.readline().startswith("has 0"), first.stderr and first.stderr.read()
        second = start(folder, 1, 1, seconds=0, user=65502)
        assert second.stderr
        assert "waiting for 1 of 1 GPUs" in second.stderr.readline()
        first.kill()
        assert second.communicate(timeout=GIVE_UP)[0].startswith("has 0")
        assert start(folder, 1, 1, seconds=0, user=65501).communicate(timeout=GIVE_UP)[0].startswith("has 0")
    finally:
        first.kill()
        first.communicate()
        shutil.rmtree(folder, ignore_errors=True)


def test_locks_that_cannot_be_written_are_named(listed, monkeypatch, tmp_path) -> None:
    listed(machine(1))

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / "leases"))

    monkeypatch.setattr(os, "mkdir", forbidden)
    with pytest.raises(TextgamutError, match=r"cannot be leased: .*leases: Permission denied"), lease(1):
        pass


def make_in_place(folder: Path, kind: str) -> None:
    """Make something that another user may have put where the lease folder belongs."""
    private = folder.parent / "private"
    private.mkdir(0o700)
    if kind == "link":
        folder.symlink_to(private)
    elif kind == "dangling link":
        folder.symlink_to(private / "new")
    elif kind == "file":
        folder.touch()
    elif kind == "FIFO":
        os.mkfifo(folder)
    else:
        folder.mkdir()
        folder.chmod(int(kind, 8))


KINDS = ["link", "dangling link", "file", "FIFO", "0700", "0777", "1775"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_in_place_of_the_lease_folder_is_left_alone(listed, tmp_path, caplog, kind) -> None:
    listed(machine(1))
    leases, own = tmp_path / "leases", tmp_path / f"leases-{os.geteuid()}"
    make_in_place(leases, kind)
    before = leases.lstat().st_mode
    with lease(1):
        assert lease_holders() == [os.getpid()]
    assert leases.lstat().st_mode == before
    assert (tmp_path / "private").stat().st_mode & 0o7777 == 0o700
    assert not any((tmp_path / "private").iterdir())
    assert own.stat().st_mode & 0o7777 == 0o700
    assert f"GPUs are leased in {own}, where the leases of other users are not seen" in caplog.text


@pytest.mark.parametrize("kind", [*KINDS[:4], "0755"])
def test_without_a_safe_folder_nothing_is_leased(listed, tmp_path, kind) -> None:
    listed(machine(1))
    (tmp_path / "leases").touch()
    own = tmp_path / f"leases-{os.geteuid()}"
    make_in_place(own, kind)
    before = own.lstat().st_mode
    with pytest.raises(TextgamutError, match=rf"leases: not a folder; {own}: .*; delete"), lease(1):
        pass
    assert own.lstat().st_mode == before


@pytest.mark.parametrize("name", ["choosing.lock", "GPU-0000-uuid.lock"])
@pytest.mark.parametrize("made", ["link", "dangling link", "folder", "FIFO"])
def test_a_link_in_place_of_a_lock_file_is_not_followed(listed, tmp_path, name, made) -> None:
    listed(machine(1))
    with lease(1):
        pass
    path, secret = tmp_path / "leases" / name, tmp_path / "secret"
    path.unlink()
    if made == "link":
        secret.touch(0o600)
    if "link" in made:
        path.symlink_to(secret)
    elif made == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(TextgamutError, match=rf"GPUs cannot be leased|{name}"), lease(1):
        pass
    assert secret.exists() == (made == "link")
    assert made != "link" or secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
def test_the_lease_folder_is_that_of_root_or_of_this_user(listed, monkeypatch) -> None:
    """Root's folder is shared by all; that of another user, or one with other rights, is not."""
    folder = Path("/tmp") / f"textgamut-test-{os.getpid()}"  # noqa: S108 (one that all users can enter)
    own = folder.with_name(f"{folder.name}-65502")
    try:
        start(folder, 1, 1, seconds=0, user=65501).communicate(timeout=GIVE_UP)
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o7777) == (65501, 0o1777)
        said = start(folder, 1, 1, seconds=0, user=65502).communicate(timeout=GIVE_UP)[1]
        assert "a folder of user 65501: GPUs are leased in" in said
        assert (own.stat().st_uid, own.stat().st_mode & 0o7777) == (65502, 0o700)
        shutil.rmtree(own)
        os.chown(folder, 0, 0)
        start(folder, 1, 1, seconds=0, user=65502).communicate(timeout=GIVE_UP)
        assert not own.exists()
        folder.chmod(0o755)
        said = start(folder, 1, 1, seconds=0, user=65502).communicate(timeout=GIVE_UP)[1]
        assert "a folder with the mode 0755, instead of 1777: GPUs are leased in" in said
        assert own.stat().st_uid == 65502
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(own, ignore_errors=True)


def test_a_process_whose_cuda_runs_keeps_its_gpus(listed, monkeypatch, caplog) -> None:
    """CUDA reads its environment once: a lease after that would be a lie."""
    listed(machine(2))
    monkeypatch.setattr(devices, "_KEPT", [])  # of an earlier test, on a machine with GPUs
    monkeypatch.setattr(devices, "_cuda_has_started", lambda: True)
    with lease(1) as device:
        assert device == devices.choose_device()
        assert visible() is None
    assert "without a lease" in caplog.text


def test_a_lease_lasts_as_long_as_cuda_does(listed, monkeypatch, caplog) -> None:
    listed(machine(2))
    kept: list[contextlib.ExitStack] = []
    monkeypatch.setattr(devices, "_KEPT", kept)
    started = False
    monkeypatch.setattr(devices, "_cuda_has_started", lambda: started)
    with lease(1):
        started = True
    for _ in range(2):
        assert (visible(), lease_holders()) == ("0", [os.getpid()])
        with lease(1):
            assert visible() == "0"
    assert not caplog.text
    kept.pop().close()
    assert (visible(), lease_holders()) == (None, [])


# --- dtype --------------------------------------------------------------------------------------------


@pytest.fixture
def capabilities(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def set_to(*versions: tuple[int, int]) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(versions))
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: versions[device.index])
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU {versions[device.index][0]}")

    return set_to


@pytest.mark.parametrize(
    ("versions", "dtype"),
    [
        ([(7, 0)], torch.float16),
        ([(7, 5)], torch.float16),
        ([(8, 0)], torch.bfloat16),
        ([(8, 9)], torch.bfloat16),
        ([(10, 0)], torch.bfloat16),
        ([(9, 0), (7, 5), (8, 0)], torch.float16),
    ],
)
def test_the_oldest_gpu_decides(capabilities, versions, dtype) -> None:
    capabilities(*versions)
    assert choose_dtype("auto", torch.device("cuda")) == dtype


def test_a_gpu_by_number_stands_for_itself(capabilities) -> None:
    capabilities((9, 0), (7, 5))
    assert choose_dtype("auto", torch.device("cuda", 0)) == torch.bfloat16
    assert choose_dtype("auto", torch.device("cuda", 1)) == torch.float16


@pytest.mark.parametrize(
    ("instructions", "dtype"),
    [
        ({}, torch.float32),
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"bf16": False, "avx2": True}, torch.float32),
    ],
)
def test_a_cpu_calculates_in_what_it_has(monkeypatch, instructions, dtype) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions)
    assert choose_dtype("auto", torch.device("cpu")) == dtype


@pytest.mark.parametrize("wish", ["float32", "float16", "bfloat16"])
def test_a_stated_dtype_holds_everywhere(capabilities, wish) -> None:
    capabilities((7, 0))
    for device in ("cpu", "cuda"):
        assert choose_dtype(wish, torch.device(device)) == getattr(torch, wish)


def test_the_record_counts_the_gpus(capabilities) -> None:
    capabilities((8, 0), (8, 0), (9, 0))
    assert device_name(torch.device("cuda")) == "2 x GPU 8, GPU 9"
    assert device_name(torch.device("cuda", 2)) == "GPU 9"
    assert device_name(torch.device("cpu")) == "cpu"


# --- models -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomly initialised Llama of four layers, in float32 on disk."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4}
    folder = tmp_path_factory.mktemp("checkpoint")
    LlamaForCausalLM(LlamaConfig(vocab_size=100, **shape)).save_pretrained(folder)
    return folder


TOKENS = torch.arange(1, 31)[None]


def logits(model) -> torch.Tensor:
    with torch.inference_mode():
        return model(TOKENS.to(model.device)).logits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("spread", [False, True])
def test_on_a_cpu_a_model_is_what_it_was(checkpoint, dtype, spread) -> None:
    from transformers import AutoModelForCausalLM

    plain = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=dtype).eval()
    model = checkpoints.load_causal_model(checkpoint, dtype, torch.device("cpu"), spread=spread)
    assert model.dtype == dtype
    assert not model.training
    assert torch.equal(logits(model), logits(plain))


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Half of the layers stay on disk until their turn: the hooks that also serve several GPUs."""
    places = {f"model.layers.{i}": "disk" if i % 2 else "cpu" for i in range(4)}
    places |= dict.fromkeys(("model.embed_tokens", "model.norm", "model.rotary_emb"), "cpu") | {
        "lm_head": "disk"
    }
    placement = {"device_map": places, "offload_folder": str(tmp_path / "off")}
    monkeypatch.setattr(checkpoints, "_placement", lambda *_: placement)
    return places


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_spread_model_gives_the_same_numbers(checkpoint, split, dtype) -> None:
    spread = checkpoints.load_causal_model(checkpoint, dtype, torch.device("cpu"), spread=True)
    assert spread.hf_device_map == split
    assert any(parameter.device.type == "meta" for parameter in spread.parameters())
    from transformers import AutoModelForCausalLM

    assert torch.equal(logits(spread), logits(AutoModelForCausalLM.from_pretrained(checkpoint, dtype=dtype)))
    tokens = spread.generate(TOKENS, max_new_tokens=5, do_sample=False, eos_token_id=None)
    assert tokens.shape == (1, 35)


def test_a_model_that_the_gpus_do_not_hold_is_an_error(checkpoint, split) -> None:
    """On GPUs accelerate would move the rest to the CPU in silence, and generate for weeks."""
    with pytest.raises(TextgamutError, match=r"does not fit .* raise its `gpus`"):
        checkpoints.load_causal_model(checkpoint, torch.float32, torch.device("cuda"), spread=True)


def test_where_a_model_goes() -> None:
    gpu = torch.device("cuda")
    assert checkpoints._placement(torch.device("cpu"), spread=True) == {}
    assert checkpoints._placement(gpu, spread=False) == {"device_map": {"": gpu}}
    assert checkpoints._placement(gpu, spread=True) == {"device_map": "balanced"}
