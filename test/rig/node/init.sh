#!/bin/bash
# The first process of a test's host, in mount, PID and UTS namespaces of its own: gives the host its
# own /etc, /run, /dev and cgroups, starts syslog and sshd, and lives until its stdin ends, so that
# nothing outlives the test process, however that ends. The kernel ends what is left with us.
#
# init.sh FOLDER HOMES IMAGES
#   FOLDER  holds etc/ (what differs from the machine's /etc), homes/, storage/, cache/,
#           and users: a line `UID GID` for each
#   HOMES   where passwd says that the homes are
#   IMAGES  a shared image store, or empty
set -eu
folder=$1 homes=$2 images=$3
umask 022
hostname login1

mount --make-rprivate /
mount -t proc proc /proc
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$folder/etc,workdir=$folder/etc.work" /etc

mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/sshd /run/user /run/berth /run/lock
: >/run/utmp
# As logind does at login.
while read -r uid gid; do
  install -d -m 0700 -o "$uid" -g "$gid" "/run/user/$uid"
done <"$folder/users"

# Devices of our own: what users need is open here, and stays closed on the machine.
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
mount --bind "$folder/homes" "$homes"
mkdir -p /var/lib/berth-ssh /var/cache/berth
mount --bind "$folder/storage" /var/lib/berth-ssh
mount --bind "$folder/cache" /var/cache/berth
if [ "$images" != '' ]; then
  mkdir -p /var/lib/berth-ssh/images
  mount --bind "$images" /var/lib/berth-ssh/images
fi

# On a host that systemd booted mounts propagate, and rootless podman warns where they do not.
mount --make-rshared /

exec 3<&0 </dev/null
rsyslogd -n -f /etc/rsyslog-of-test.conf -i /run/rsyslogd.pid 3<&- &
until [ -S /dev/log ]; do sleep 0.01; done
/usr/sbin/sshd -t
/usr/sbin/sshd -D 3<&- &
cat <&3 >/dev/null &
wait $!
