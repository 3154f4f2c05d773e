#!/bin/bash
# The first process of a test's login node, in its own mount, PID and UTS namespaces. It mounts the node's
# /etc, /run, /dev and cgroups, starts syslog and sshd, and exits when its stdin ends, so that it does not
# outlive the test process. The kernel then kills the other processes of the node.
#
# init.sh DIRECTORY HOMES IMAGES
#   DIRECTORY  contains etc/ (files that differ from the machine's /etc), homes/, storage/, cache/,
#              and users, with a line `UID GID` for each user
#   HOMES      directory of the homes according to passwd(5)
#   IMAGES     a shared image store, or empty
set -eu
directory=$1 homes=$2 images=$3
umask 022
hostname "$(cat "$directory/etc/hostname")"

mount --make-rprivate /
mount -t proc proc /proc
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$directory/etc,workdir=$directory/etc.work" /etc

mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/sshd /run/user /run/berth /run/lock
: >/run/utmp
# logind would create these at login.
while read -r uid gid; do
  install -d -m 0700 -o "$uid" -g "$gid" "/run/user/$uid"
done <"$directory/users"

# The node's own /dev: devices that users need have mode 0666, unlike on the machine.
mkdir /run/dev
mount -t tmpfs -o mode=0755 tmpfs /run/dev
mkdir /run/dev/pts /run/dev/shm /run/dev/net
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 fuse:10:229 net/tun:10:200; do
  IFS=: read -r name major minor <<<"$node"
  mknod -m 0666 "/run/dev/$name" c "$major" "$minor"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts /run/dev/pts
mount -t tmpfs -o mode=1777 tmpfs /run/dev/shm
ln -s pts/ptmx /run/dev/ptmx
ln -s /proc/self/fd /run/dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%:*}" "/run/dev/${number#*:}"; done
mount --move /run/dev /dev
rmdir /run/dev

mount -t cgroup2 cgroup2 /sys/fs/cgroup
# Of its own: the cgroups of its connections are named after PIDs of this node.
cgroup=$(mktemp -d /sys/fs/cgroup/berth-test-XXXXXX)
chmod 0755 "$cgroup"
echo $$ >"$cgroup/cgroup.procs"
basename "$cgroup" >>"$directory/cgroup"
mount --bind "$directory/homes" "$homes"
mkdir -p /var/lib/berth-ssh /var/cache/berth
mount --bind "$directory/storage" /var/lib/berth-ssh
mount --bind "$directory/cache" /var/cache/berth
if [ "$images" != '' ]; then
  mkdir -p /var/lib/berth-ssh/images
  mount --bind "$images" /var/lib/berth-ssh/images
fi

# As on a host with systemd; rootless podman warns if mounts are not shared.
mount --make-rshared /

exec 3<&0 </dev/null
rsyslogd -n -f /etc/rsyslog-of-test.conf -i /run/rsyslogd.pid 3<&- &
until [ -S /dev/log ]; do sleep 0.01; done
/usr/sbin/sshd -t
/usr/sbin/sshd -D 3<&- &
cat <&3 >/dev/null &
wait $!
