#!/bin/sh
installed=/usr/lib/berth/packaging/installed
[ ! -e $installed ] || exec $installed berth-login 'sshd, PAM and the accounts' \
  'berth init login-node (or by hand: /usr/lib/berth/share/docs/getting-started-login-node.md, from "2. Choose the image")' "$@"
