#!/bin/sh
# Installs the SELinux module as %selinux_modules_install of RHEL's macros does. Without it Berth works on hosts without SELinux.
set -eu
command -v semodule >/dev/null 2>&1 && [ -r /etc/selinux/config ] || exit 0
. /etc/selinux/config
[ "${SELINUXTYPE:-}" = targeted ] || exit 0
semodule -n -s targeted -X 200 -i /usr/share/selinux/packages/targeted/berth.pp || {
  echo 'berth: the SELinux module was not installed. next: /usr/lib/berth/share/docs/rhel.md (SELinux)' >&2
  exit 0
}
if selinuxenabled; then
  load_policy
  restorecon -R /usr/lib/berth
  # Only what root writes: users own the directories below /run/berth/users.
  [ ! -d /run/berth/broker ] || restorecon -R /run/berth/broker
fi
