#!/bin/sh
# Installs what tests/browser needs besides Python packages: Chromium, from Debian or Ubuntu.
set -eu

command -v chromium >/dev/null && exit 0
if ! command -v apt-get >/dev/null; then
    echo "tests/browser needs chromium in PATH, and there is no apt-get to install it" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    sudo=""
elif command -v sudo >/dev/null; then
    sudo="sudo"
else
    echo "tests/browser needs chromium: as root, apt-get install --no-install-recommends chromium fonts-dejavu" >&2
    exit 1
fi

echo "Installing Chromium (once)"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium fonts-dejavu
command -v chromium >/dev/null
