#!/bin/sh
set -eu
[ ! -d /run/systemd/system ] || systemctl daemon-reload
# Only after the first installation. dpkg: the former version is the second argument; rpm: 1.
[ "${1:-} ${2:-}" != 'configure ' ] && [ "${1:-}" != 1 ] || cat <<'END'
berth-login is installed. sshd, PAM and the accounts are unchanged.
next: /usr/lib/berth/share/docs/getting-started-login-node.md, from "2. Choose the image"
END
