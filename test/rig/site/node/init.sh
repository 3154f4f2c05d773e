#!/bin/bash
# The first process of the node, in mount, PID, UTS and network namespaces of its own: gives the node its
# own /run, /var/log and /var/lib/kubelet, takes in orphans, and ends with everything on the node.
#
# init.sh FOLDER NAME
#   FOLDER  holds kubelet/ and log/
#   NAME    the host's name
set -eu
folder=$1
umask 022
hostname "$2"

# Mounts of pods stay on the node, and kubelet asks for a tree that passes mounts on.
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/lock /run/netns /var/lib/kubelet
mount --bind "$folder/kubelet" /var/lib/kubelet
mount --bind "$folder/log" /var/log
mount --make-rshared /

ip link set lo up
sysctl -q -w net.ipv4.ip_forward=1

trap 'exit 0' TERM
: >/run/node-is-up
sleep infinity &
# Shims that lost their parent come here, and bash reaps them while it waits.
while :; do wait || :; done
