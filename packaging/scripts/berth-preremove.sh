#!/bin/sh
# dpkg: remove, upgrade, …; rpm: the number of versions that remain.
set -eu
case ${1:-} in remove | 0) ;; *) exit 0 ;; esac
# Unless somebody has deleted the programs.
[ ! -e /usr/lib/berth/shell/login ] || /usr/lib/berth/packaging/still-used berth
if [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now berth-metrics.timer
fi
# Metrics that no longer change.
rm -f /var/lib/prometheus/node-exporter/berth-metrics.prom
