#!/bin/sh
# dpkg: remove, upgrade, …; rpm: the number of versions that remain.
set -eu
case ${1:-} in remove | 0) ;; *) exit 0 ;; esac
used=/usr/lib/berth/share/packaging/still-used
[ ! -e $used ] || $used berth
if [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now berth-metrics.timer
fi
# Metrics that no longer change.
rm -f /var/lib/prometheus/node-exporter/berth-metrics.prom
