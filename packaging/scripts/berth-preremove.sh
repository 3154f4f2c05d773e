#!/bin/sh
# dpkg: remove, upgrade, …; rpm: the number of versions that remain.
set -eu
case ${1:-} in remove | 0) ;; *) exit 0 ;; esac
/usr/lib/berth/share/packaging/still-used berth
