"""A real Slurm on one machine: two virtual nodes with two GPUs each that are none; no accounting database.

The configuration must be in /etc/slurm, where the nested `srun` of a Slurm job looks for it: needs root, and
refuses where a Slurm is configured already.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from helpers import GIVE_UP

from textgamut.locks import lock

NAME = "textgamut-tests"
ETC = Path("/etc/slurm")
FILES = ("slurm.conf", "gres.conf")
MUNGE = Path("/run/munge/munge.socket.2")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

SLURM_CONF = """
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,UsePss
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=2
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,bf_interval=2,sched_interval=2
EnforcePartLimits=ALL
MpiDefault=none
GresTypes=gpu
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[2]}] {size}
PartitionName=cpu Nodes=n[1-2] Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=gpu Nodes=n[1-2] MaxTime=1-00:00:00 State=UP
"""
GRES_CONF = """
AutoDetect=off
NodeName=n[1-2] Name=gpu Type=fake File={folder}/fakegpu[0-1]
"""

# The pipe at standard input closes when the test process ends, by whatever signal: then the group ends too.
GUARD = 'trap : INT TERM; "$@" </dev/null & read -r _; kill -s TERM 0; wait'


def missing() -> str:
    """Say why no cluster can be started on this machine; empty: nothing is in the way."""
    lacking = [
        program
        for program in ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
        if not shutil.which(program, path=PATH)
    ]
    if lacking:
        return f"no {' and '.join(lacking)} on this machine: tests/slurm/install.sh installs it"
    if os.geteuid() != 0:
        return "starting a Slurm needs root"
    for file in FILES:
        path = ETC / file
        if path.is_symlink() and NAME in os.readlink(path):
            continue  # left by a run of these tests that was killed
        if path.exists() or path.is_symlink():
            return f"{path} exists: this machine has a Slurm of its own, which stays as it is"
    return ""


def command(*arguments: str, timeout: float = GIVE_UP) -> str:
    """Run one of Slurm's clients; return what it prints."""
    return subprocess.run(
        arguments, check=True, capture_output=True, text=True, timeout=timeout, env=environment()
    ).stdout


def environment() -> dict[str, str]:
    """Return this process's environment without what points to another Slurm or to a job of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
    return kept | {"PATH": PATH}


class Cluster:
    """Slurm's daemons, from start to `stop()`, or to the end of the process that started them."""

    def __init__(self, parent: Path) -> None:
        """Start controller and nodes in a folder of `parent`, and wait until the nodes are idle."""
        if reason := missing():
            raise RuntimeError(reason)
        self.folder = parent / NAME
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._lock = ExitStack()
        self._lock.enter_context(lock(ETC / f"{NAME}.lock"))  # another run of these tests
        try:
            self._configure()
            self._start_munge()
            self._daemon("slurmctld", "-D", "-c")
            for node in ("n1", "n2"):
                self._daemon("slurmd", "-D", "-c", "-N", node)
            self._wait_for_nodes()
        except BaseException:
            self.stop()
            raise

    def _configure(self) -> None:
        for name in ("state", "spool/n1", "spool/n2", "log", "run"):
            (self.folder / name).mkdir(parents=True)
        for number in (0, 1):  # Slurm wants character devices: /dev/null under another name
            os.mknod(self.folder / f"fakegpu{number}", 0o20666, os.makedev(1, 3))
        values = {
            "name": NAME,
            "host": socket.gethostname(),
            "folder": self.folder,
            "ports": free_ports(3),
            "size": "CPUs=16 RealMemory=64000 Gres=gpu:fake:2",
        }
        for file, text in zip(FILES, (SLURM_CONF, GRES_CONF), strict=True):
            (self.folder / file).write_text(text.format(**values))
            (ETC / file).unlink(missing_ok=True)
            (ETC / file).symlink_to(self.folder / file)

    def _start_munge(self) -> None:
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.connect(str(MUNGE))
            return  # one runs already
        MUNGE.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.chown(MUNGE.parent, "munge", "munge")
        self._daemon("runuser", "-u", "munge", "--", "munged", "--foreground", "--force")
        wait_until(MUNGE.exists, "munged")

    def _daemon(self, *arguments: str) -> None:
        log = self.folder / "log" / f"{'-'.join(arguments[-2:])}.out".replace("/", "_")
        with log.open("wb") as output:
            self._daemons.append(
                subprocess.Popen(
                    ["/bin/sh", "-c", GUARD, "guard", *arguments],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment(),
                    start_new_session=True,
                )
            )

    def _wait_for_nodes(self) -> None:
        def idle() -> bool:
            with suppress(subprocess.SubprocessError):
                states = command("sinfo", "--noheader", "--Node", "--partition=gpu", "--format=%T", timeout=5)
                return states.split() == ["idle", "idle"]
            return False

        wait_until(idle, f"Slurm (logs in {self.folder / 'log'})")

    def jobs(self) -> dict[str, dict[str, str]]:
        """Return every job that the controller remembers: id -> its fields, as `scontrol` names them."""
        text = command("scontrol", "show", "job", "--oneliner")
        fields = ([part for part in line.split() if "=" in part] for line in text.splitlines())
        found = [dict(part.split("=", 1) for part in parts) for parts in fields]
        return {job["JobId"]: job for job in found if "JobId" in job}

    def stop(self) -> None:
        """Cancel all jobs, end the daemons, see every process gone and the configuration removed."""
        with suppress(subprocess.SubprocessError, RuntimeError):
            command("scancel", "--user=root", timeout=5)
            wait_until(lambda: not command("squeue", "--noheader", timeout=5), "the end of all jobs", 15)
        for daemon in reversed(self._daemons):
            assert daemon.stdin is not None
            daemon.stdin.close()
        for daemon in reversed(self._daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()
        for pid in processes_of_jobs():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for file in FILES:
            if (ETC / file).is_symlink():
                (ETC / file).unlink()
        self._lock.close()


def processes_of_jobs() -> list[int]:
    """Return the processes of Slurm jobs of this cluster, by the environment that Slurm gave them."""
    marker = f"SLURM_CLUSTER_NAME={NAME}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marker in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def wait_until(condition: Callable[[], object], what: str, seconds: float = GIVE_UP) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not get there in {seconds:.0f} s")
        time.sleep(0.1)


def free_ports(count: int) -> range:
    """Return ports in a row on which nothing listens now."""
    for first in range(16817, 30000, count):
        with suppress(OSError):
            for port in range(first, first + count):
                with socket.socket() as listener:
                    listener.bind(("127.0.0.1", port))
            return range(first, first + count)
    raise RuntimeError("no free ports")
