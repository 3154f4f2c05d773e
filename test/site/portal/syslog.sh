#!/bin/bash
# Runs a command where syslog is its own: rsyslogd behind a /dev/log that nobody else sees. Ends with the
# command's exit code when all that was sent is in FOLDER/log.
#
# syslog.sh FOLDER COMMAND [ARGUMENT...]
set -eu
folder=$1
shift
mount --make-rprivate /
mount -t proc proc /proc
mkdir -p "$folder/dev"
mount -t tmpfs -o mode=0755 tmpfs "$folder/dev"
for name in null zero full random urandom; do
  touch "$folder/dev/$name"
  mount --bind "/dev/$name" "$folder/dev/$name"
done
ln -s /proc/self/fd "$folder/dev/fd"
mount --move "$folder/dev" /dev

rm -f "$folder/log" "$folder/pid"
cat >"$folder/rsyslog.conf" <<END
module(load="imuxsock")
*.* action(type="omfile" file="$folder/log" template="RSYSLOG_FileFormat")
END
rsyslogd -n -f "$folder/rsyslog.conf" -i "$folder/pid" </dev/null >/dev/null 2>&1 &
until [ -S /dev/log ]; do sleep 0.01; done
code=0
"$@" || code=$?
# Nobody waits for what the hook left to send its lines.
while grep -qsx logger /proc/[0-9]*/comm; do sleep 0.01; done
logger -t syslog.sh end
until grep -qs 'syslog.sh: end' "$folder/log"; do sleep 0.01; done
exit "$code"
