#!/bin/bash
# Runs a command where syslog is its own: rsyslogd behind a /dev/log that nobody else sees. Ends with the
# command's exit code when all that was sent is in FOLDER/log.
#
# syslog.sh FOLDER COMMAND [ARGUMENT...]
set -eu
directory=$1
shift
mount --make-rprivate /
mount -t proc proc /proc
mkdir -p "$directory/dev"
mount -t tmpfs -o mode=0755 tmpfs "$directory/dev"
for name in null zero full random urandom; do
  touch "$directory/dev/$name"
  mount --bind "/dev/$name" "$directory/dev/$name"
done
ln -s /proc/self/fd "$directory/dev/fd"
mount --move "$directory/dev" /dev

rm -f "$directory/log" "$directory/pid"
cat >"$directory/rsyslog.conf" <<END
module(load="imuxsock")
*.* action(type="omfile" file="$directory/log" template="RSYSLOG_FileFormat")
END
rsyslogd -n -f "$directory/rsyslog.conf" -i "$directory/pid" </dev/null >/dev/null 2>&1 &
until [ -S /dev/log ]; do sleep 0.01; done
code=0
"$@" || code=$?
# Nobody waits for what the hook left to send its lines.
while grep -qsx logger /proc/[0-9]*/comm; do sleep 0.01; done
logger -t syslog.sh end
until grep -qs 'syslog.sh: end' "$directory/log"; do sleep 0.01; done
exit "$code"
