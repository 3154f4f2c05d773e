#!/bin/bash
# The first process of a test's balancer, in its own mount, PID and UTS namespaces: it mounts the balancer's /etc, /run
# and /dev, starts syslog and haproxy as Debian's unit does, and exits when its stdin ends.
#
# balancer-init.sh DIRECTORY NAME
#   DIRECTORY  contains etc/ (files that differ from the machine's /etc)
#   NAME       of the host, and thus of haproxy among its peers
set -eu
directory=$1
umask 022
hostname "$2"

mount --make-rprivate /
mount -t proc proc /proc
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$directory/etc,workdir=$directory/etc.work" /etc
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /run/haproxy /run/dev
mount -t tmpfs -o mode=0755 tmpfs /run/dev
for node in null:1:3 zero:1:5 random:1:8 urandom:1:9; do
  IFS=: read -r name major minor <<<"$node"
  mknod -m 0666 "/run/dev/$name" c "$major" "$minor"
done
ln -s /proc/self/fd /run/dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%:*}" "/run/dev/${number#*:}"; done
mount --move /run/dev /dev
rmdir /run/dev
# haproxy's chroot.
mkdir -p /var/lib/haproxy
mount -t tmpfs -o mode=0755 tmpfs /var/lib/haproxy
mkdir /var/lib/haproxy/dev

exec 3<&0 </dev/null
rsyslogd -n -f /etc/rsyslog-of-test.conf -i /run/rsyslogd.pid 3<&- &
until [ -S /dev/log ] && [ -S /var/lib/haproxy/dev/log ]; do sleep 0.01; done
haproxy -W -f /etc/haproxy/haproxy.cfg -p /run/haproxy.pid -S /run/haproxy-master.sock 3<&- &
cat <&3 >/dev/null &
wait $!
