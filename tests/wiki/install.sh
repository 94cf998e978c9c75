#!/bin/sh
# Installs what tests/wiki needs besides Python packages: MediaWiki and PHP, from Debian or Ubuntu. On another system,
# put MediaWiki 1.39 or later at /usr/share/mediawiki, and php with sqlite3, intl, mbstring and xml in PATH.
set -eu
. "$(dirname "$0")/../apt.sh"

complete() {
    test -f /usr/share/mediawiki/api.php || return 1
    modules=$(php -m 2>/dev/null) || return 1
    for module in pdo_sqlite intl mbstring dom xmlreader; do
        echo "$modules" | grep -qix "$module" || return 1
    done
}

complete || apt_install tests/wiki "MediaWiki and PHP" \
    mediawiki php-cli php-sqlite3 php-intl php-mbstring php-xml
