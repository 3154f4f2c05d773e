#!/bin/sh
exec /usr/lib/berth/share/packaging/installed berth-login 'sshd, PAM and the accounts' \
  'getting-started-login-node.md, from "2. Choose the image"' "$@"
