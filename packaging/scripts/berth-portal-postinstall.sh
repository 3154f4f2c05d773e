#!/bin/sh
set -eu
[ ! -d /run/systemd/system ] || systemctl daemon-reload
# Only after the first installation. dpkg: the former version is the second argument; rpm: 1.
[ "${1:-} ${2:-}" != 'configure ' ] && [ "${1:-}" != 1 ] || cat <<'END'
berth-portal is installed. OnDemand and the clusters are unchanged.
next: /usr/lib/berth/share/docs/getting-started-portal.md, from "2. Configure it"
END
