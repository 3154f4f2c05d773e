#!/bin/bash
# The first process of a host, in new mount, PID, IPC and UTS namespaces. It mounts an overlay on
# the machine's root file system, so that nothing on the host changes the machine, and then executes systemd, which boots
# Debian's own units.
#
# systemd-host-init.sh DIRECTORY NAME
#   DIRECTORY  contains etc/ (files that differ from the machine's), cgroup (written) and disk/: home, storage
#   NAME       host name
set -eu
directory=$1 name=$2
umask 022
hostname "$name"
mount --make-rprivate /

# A directory below the lower layer cannot be the upper layer.
mount -t tmpfs -o mode=0755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
root=/mnt/root
cp -a "$directory/etc/." "$root/etc/"
# Locks of a test that creates accounts on the machine at this moment.
rm -f "$root"/etc/{passwd,shadow,group,gshadow,subuid,subgid}.lock
# Services of the machine's packages, for example docker-registry, would take ports of the machine: the network is shared.
find "$root/etc/systemd/system" -path '*.wants/*' ! -name ssh.service ! -name rsyslog.service -delete
# dpkg refuses to run if it names a group of a package of the machine that the host does not have.
: >"$root/var/lib/dpkg/statoverride"

mount -t proc proc "$root/proc"
# Read-only while systemd boots, as with systemd-nspawn(1), so that it does not change the machine's kernel settings.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t sysfs -o ro sysfs "$root/sys"

mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 fuse:10:229 net/tun:10:200; do
  IFS=: read -r device major minor <<<"$node"
  mknod -m 0666 "$root/dev/$device" c "$major" "$minor"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%:*}" "$root/dev/${number#*:}"; done

for disk in home:/home storage:/var/lib/berth-ssh; do
  mkdir -p "$root${disk#*:}"
  mount --bind "$directory/disk/${disk%%:*}" "$root${disk#*:}"
done

# What configures hardware, network, clock or terminals of the machine.
units=$root/run/systemd/system
mkdir -p "$units" "$root/run/cgroup"
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket \
  systemd-networkd.service systemd-networkd.socket systemd-resolved.service systemd-timesyncd.service \
  systemd-sysctl.service systemd-modules-load.service networking.service getty.target console-getty.service \
  systemd-firstboot.service systemd-remount-fs.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
  e2scrub_all.timer fstrim.timer man-db.timer; do
  ln -s /dev/null "$units/$unit"
done
mount -t tmpfs -o mode=0755 tmpfs "$root/usr/lib/systemd/system-generators"

mount -t cgroup2 cgroup2 "$root/run/cgroup"
cgroup=$(mktemp -d "$root/run/cgroup/berth-test-XXXXXX")
# As systemd's own: with 0700 the managers of users cannot enter it, and do not start.
chmod 0755 "$cgroup"
# Podman limits processes by default, where the machine lends cgroups v2 no controllers because version 1 has them.
if ! grep -qw pids "$root/run/cgroup/cgroup.controllers"; then
  mkdir -p "$root/etc/containers"
  printf '[containers]\npids_limit = 0\n' >"$root/etc/containers/containers.conf"
fi
echo $$ >"$cgroup/cgroup.procs"
basename "$cgroup" >"$directory/cgroup"

cd "$root"
mkdir -p mnt/machine
pivot_root . mnt/machine
umount --lazy /mnt/machine
# As on a host that systemd boots; rootless podman warns if mounts are not shared.
mount --make-rshared /
export container=berth-test
exec unshare --cgroup bash -euc '
  umount /run/cgroup
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=no'
