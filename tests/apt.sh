# Sourced by the scripts that install what some tests need besides Python packages.

# apt_install TESTS WHAT PACKAGE...: install packages of Debian or Ubuntu, or say what is needed.
apt_install() {
    tests=$1 what=$2
    shift 2
    if ! command -v apt-get >/dev/null; then
        echo "$tests needs $what, and there is no apt-get to install it: see $0" >&2
        exit 1
    fi
    if [ "$(id -u)" -eq 0 ]; then
        sudo=""
    elif command -v sudo >/dev/null; then
        sudo="sudo"
    else
        echo "$tests needs $what: as root, apt-get install --no-install-recommends $*" >&2
        exit 1
    fi
    echo "Installing $what (once)"
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@"
    if ! complete; then
        echo "apt-get installed $*, but $what is still incomplete" >&2
        exit 1
    fi
}
