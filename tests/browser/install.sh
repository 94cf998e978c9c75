#!/bin/sh
# Installs what tests/browser needs besides Python packages: Chromium, from Debian or Ubuntu.
set -eu
. "$(dirname "$0")/../apt.sh"

complete() {
    command -v chromium >/dev/null
}

complete || apt_install tests/browser Chromium chromium fonts-dejavu
