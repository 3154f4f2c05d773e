#!/bin/sh
# As %selinux_modules_uninstall of RHEL's macros does.
set -eu
[ "${1:-}" = 0 ] && command -v semodule >/dev/null 2>&1 && [ -r /etc/selinux/config ] || exit 0
. /etc/selinux/config
[ "${SELINUXTYPE:-}" = targeted ] || exit 0
semodule -n -s targeted -X 200 -r berth || true
! selinuxenabled || load_policy
