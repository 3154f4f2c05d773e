#!/bin/bash
# The first process of the node, in its own mount, PID, UTS and network namespaces. It mounts /run, /var/log
# and /var/lib/kubelet for the node and reaps orphans. All processes of the node end with it.
#
# init.sh DIRECTORY NAME
#   DIRECTORY  contains kubelet/ and log/
#   NAME       the node's host name
set -eu
directory=$1
umask 022
hostname "$2"

# Mounts of pods are not visible outside of the node; kubelet requires shared mount propagation inside.
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/lock /run/netns /var/lib/kubelet
mount --bind "$directory/kubelet" /var/lib/kubelet
mount --bind "$directory/log" /var/log
mount --make-rshared /

ip link set lo up
sysctl -q -w net.ipv4.ip_forward=1

trap 'exit 0' TERM
: >/run/node-is-up
sleep infinity &
# Orphaned containerd shims become children of this process; bash reaps them while it waits.
while :; do wait || :; done
