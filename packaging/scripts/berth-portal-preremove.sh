#!/bin/sh
# Stops the units before their files are removed.
set -eu
case ${1:-} in remove | 0) ;; *) exit 0 ;; esac
# Unless somebody has deleted the programs.
[ ! -d /usr/lib/berth/hooks ] || /usr/lib/berth/packaging/still-used berth-portal
if [ -d /run/systemd/system ]; then
  for unit in $(systemctl list-units --all --plain --no-legend --full 'berth-broker@*' 'berth-hub.socket' 'berth-hub@*' \
    'berth-token-rotate*' 'berth-ldap-sync*' 'berth-slurm-sync*' 'berth-cluster-reap*' 'berth-clusters-discover*' | cut -d' ' -f1); do
    systemctl --no-reload disable --now "$unit"
  done
fi
# What the timers leave: their last time, and metrics that no longer change.
rm -f /var/lib/systemd/timers/stamp-berth-token-rotate* /var/lib/prometheus/node-exporter/berth-*.prom
