#!/bin/bash
# The first process of a portal host's systemd, in mount, PID, IPC and UTS namespaces of its own: gives it a
# /run and cgroups that are not the machine's, and becomes systemd.
#
# broker-init.sh FOLDER
#   FOLDER  holds units/, which are all that this systemd knows, and etc/passwd where the host has users of its own
set -eu
folder=$1

mount --make-rprivate /
mount -t proc proc /proc
# As systemd-nspawn(1): settings of the kernel stay the machine's.
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/systemd/system /run/cgroup
mount -t tmpfs -o mode=0755 tmpfs /usr/lib/systemd/system-generators
# The whole of /etc: a mount on its passwd alone is gone when useradd renames the machine's own.
[ ! -e "$folder/etc" ] || mount -t overlay overlay -o "lowerdir=/etc,upperdir=$folder/etc,workdir=$folder/work" /etc

mount -t cgroup2 cgroup2 /run/cgroup
cgroup=$(mktemp -d /run/cgroup/berth-test-XXXXXX)
echo $$ >"$cgroup/cgroup.procs"
basename "$cgroup" >"$folder/cgroup"

export container=berth-test SYSTEMD_UNIT_PATH=$folder/units
exec unshare --cgroup bash -euc '
  umount /run/cgroup
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec /lib/systemd/systemd --system --unit=portal.target --log-target=null --show-status=no'
