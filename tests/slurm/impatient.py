"""Snakemake, asking Slurm for the state of its jobs every second: the plugin's pauses grow to minutes."""

import asyncio
import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor


async def a_second(self: RemoteExecutor) -> None:
    await asyncio.sleep(1)


RemoteExecutor.sleep = a_second
main(sys.argv[1:])
