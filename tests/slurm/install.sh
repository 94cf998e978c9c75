#!/bin/sh
# Installs what tests/slurm needs besides Python packages: Slurm and munge, from Debian or Ubuntu.
set -eu

packages="munge slurm-wlm"

complete() {
    for program in munged slurmctld slurmd sbatch; do
        PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null || return 1
    done
}

complete && exit 0
if ! command -v apt-get >/dev/null; then
    echo "tests/slurm needs Slurm and munge, and there is no apt-get to install them" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "tests/slurm starts its own Slurm in /etc/slurm: run it as root, in a container" >&2
    exit 1
fi

echo "Installing Slurm (once, a few seconds)"
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends $packages
if ! complete; then
    echo "apt-get installed $packages, but a program of Slurm is still missing" >&2
    exit 1
fi
