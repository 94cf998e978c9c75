#!/bin/sh
# Installs what tests/wiki needs besides Python packages: MediaWiki and PHP, from Debian or Ubuntu.
set -eu

packages="mediawiki php-cli php-sqlite3 php-intl php-mbstring php-xml"

complete() {
    test -f /usr/share/mediawiki/api.php || return 1
    modules=$(php -m 2>/dev/null) || return 1
    for module in pdo_sqlite intl mbstring dom xmlreader; do
        echo "$modules" | grep -qix "$module" || return 1
    done
}

complete && exit 0
if ! command -v apt-get >/dev/null; then
    echo "tests/wiki needs MediaWiki and PHP, and there is no apt-get to install them: on another system," \
        "put MediaWiki 1.39 or later at /usr/share/mediawiki, and php with sqlite3, intl, mbstring, xml in PATH" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    sudo=""
elif command -v sudo >/dev/null; then
    sudo="sudo"
else
    echo "tests/wiki needs MediaWiki and PHP: as root, apt-get install --no-install-recommends $packages" >&2
    exit 1
fi

echo "Installing MediaWiki and PHP (once, about a minute)"
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends $packages
if ! complete; then
    echo "apt-get installed $packages, but MediaWiki or a PHP module is still missing" >&2
    exit 1
fi
