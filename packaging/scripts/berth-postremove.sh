#!/bin/sh
# dpkg: remove, purge, upgrade, …; rpm: the number of versions that remain.
set -eu
case ${1:-} in remove | purge | 0) ;; *) exit 0 ;; esac
# What `berth images files` wrote.
rm -rf /usr/lib/berth/files
[ ! -d /usr/lib/berth ] || rmdir --ignore-fail-on-non-empty /usr/lib/berth
# As %selinux_modules_uninstall of RHEL's macros does; Debian's policy has another name.
command -v semodule >/dev/null 2>&1 && [ -r /etc/selinux/config ] || exit 0
. /etc/selinux/config
[ "${SELINUXTYPE:-}" = targeted ] || exit 0
semodule -n -s targeted -X 200 -r berth || true
! selinuxenabled || load_policy
