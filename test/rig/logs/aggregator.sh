#!/bin/bash
# The containers of etc/kubernetes/log-aggregator without a kubelet: its files at their paths, its commands as an
# unprivileged account with a read-only root, in their own mount and PID namespaces. It takes commands from stdin, says on
# file descriptor 3 that each is done, and ends when stdin does.
#
# aggregator.sh DIRECTORY
#   DIRECTORY  contains config/ (the ConfigMap), tls/ (the Secret), hosts/ (the claim) and rsyslog-command
set -eu
directory=$1
mount --make-rprivate /
mount -t proc proc /proc
mkdir -p "$directory/etc/log-aggregator" "$directory/etc/log-aggregator-tls" "$directory/etc.work"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$directory/etc,workdir=$directory/etc.work" /etc
mount --bind "$directory/config" /etc/log-aggregator
mount --bind "$directory/tls" /etc/log-aggregator-tls
mount -t tmpfs -o mode=0755 tmpfs /run
install -d -o 65532 -g 65532 /run/log-aggregator
mount -t tmpfs -o mode=0755 tmpfs /var/log
mkdir /var/log/hosts
mount --bind "$directory/hosts" /var/log/hosts
mount -o remount,ro /var/log
mount -o bind,remount,ro /etc
mount -o bind,remount,ro /

as_in_a_container() {
  exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --bounding-set -all --inh-caps -all "$@"
}
exec 4<&0 </dev/null
(as_in_a_container sh /etc/log-aggregator/listeners.sh 3>&- 4<&-)
(as_in_a_container haproxy -db -f /etc/log-aggregator/haproxy.cfg 3>&- 4<&-) &
echo up >&3
while read -r command argument; do
  case $command in
  start)
    (as_in_a_container sh -c "$(cat "$directory/rsyslog-command")" 3>&- 4<&-) &
    rsyslog=$!
    ;;
  # What the kubelet does, and what is left after a power failure.
  stop | kill)
    kill -s "$([ "$command" = stop ] && echo TERM || echo KILL)" "$rsyslog"
    wait "$rsyslog" || true
    ;;
  rotate) (as_in_a_container sh /etc/log-aggregator/rotate.sh "$argument" 3>&- 4<&-) ;;
  esac
  echo "$command" >&3
done <&4
