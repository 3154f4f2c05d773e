#!/bin/bash
# The first process of a host that has only its own units, in new mount, PID, IPC and UTS namespaces. It mounts its own
# /run and cgroups and then executes systemd.
#
# own-units-init.sh DIRECTORY
#   DIRECTORY  contains units/, the only units of this systemd, and etc/passwd if the host has its own users
set -eu
directory=$1

mount --make-rprivate /
mount -t proc proc /proc
# Read-only, as systemd-nspawn(1) does, so that systemd does not change the machine's kernel settings.
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/systemd/system /run/cgroup
mount -t tmpfs -o mode=0755 tmpfs /usr/lib/systemd/system-generators
# An overlay on /etc: a bind mount on /etc/passwd would disappear when useradd renames the machine's file.
[ ! -e "$directory/etc" ] || mount -t overlay overlay -o "lowerdir=/etc,upperdir=$directory/etc,workdir=$directory/work" /etc

mount -t cgroup2 cgroup2 /run/cgroup
cgroup=$(mktemp -d /run/cgroup/berth-test-XXXXXX)
echo $$ >"$cgroup/cgroup.procs"
basename "$cgroup" >"$directory/cgroup"

export container=berth-test SYSTEMD_UNIT_PATH=$directory/units
exec unshare --cgroup bash -euc '
  umount /run/cgroup
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec /lib/systemd/systemd --system --unit=portal.target --log-target=null --show-status=no'
