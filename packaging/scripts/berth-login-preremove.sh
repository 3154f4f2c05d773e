#!/bin/sh
# Stops the units before their files are removed. Open sessions continue.
set -eu
case ${1:-} in remove | 0) ;; *) exit 0 ;; esac
# Unless somebody has deleted the programs.
[ ! -e /usr/lib/berth/shell/login ] || /usr/lib/berth/packaging/still-used berth-login
if [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now berth-reap.timer berth-images.timer berth-pages.timer
  for unit in $(systemctl list-units --all --plain --no-legend --full 'berth-sshd@*.service' | cut -d' ' -f1); do
    systemctl --no-reload disable --now "$unit"
  done
fi
# What the timers leave: their last time, metrics and pages that no longer change.
rm -f /var/lib/systemd/timers/stamp-berth-images.timer /var/lib/prometheus/node-exporter/berth.prom
rm -rf /var/lib/berth-pages /etc/motd.d/berth
