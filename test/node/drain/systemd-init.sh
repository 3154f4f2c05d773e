#!/bin/bash
# The first process of a PID namespace within a login node of the tests: it mounts /proc and cgroups of its own and
# executes systemd, which has the units in DIRECTORY/units and /etc/systemd/system only.
#
# systemd-init.sh DIRECTORY
set -eu
directory=$1

mount --make-rprivate /
mount -t proc proc /proc
# Read-only, as systemd-nspawn(1) does, so that systemd does not change the machine's kernel settings.
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mkdir -p /run/systemd/system /run/cgroup
mount -t tmpfs -o mode=0755 tmpfs /usr/lib/systemd/system-generators

mount -t cgroup2 cgroup2 /run/cgroup
cgroup=$(mktemp -d /run/cgroup/berth-test-XXXXXX)
echo $$ >"$cgroup/cgroup.procs"
basename "$cgroup" >>"$directory/cgroup"

export container=berth-test SYSTEMD_UNIT_PATH=$directory/units:/etc/systemd/system
exec unshare --cgroup bash -euc '
  umount /run/cgroup
  umount /sys/fs/cgroup
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=null --show-status=no'
