#!/bin/sh
# Installs what tests/slurm needs besides Python packages: Slurm and munge, from Debian or Ubuntu.
set -eu
. "$(dirname "$0")/../apt.sh"

complete() {
    for program in munged slurmctld slurmd sbatch; do
        PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null || return 1
    done
}

complete && exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "tests/slurm starts its own Slurm in /etc/slurm: run it as root, in a container" >&2
    exit 1
fi
apt_install tests/slurm "Slurm and munge" munge slurm-wlm
