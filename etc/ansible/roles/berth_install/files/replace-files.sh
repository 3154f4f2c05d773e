#!/bin/sh
# Moves the files of an unpacked archive to their places. Each file is replaced by rename(2), because both are on the same
# file system. Files that only the former version had stay, as with `npm run install:site`.
#
# replace-files.sh DIRECTORY
#   DIRECTORY  contains usr/lib/berth and usr/share/berth
set -eu
cd "$1"

find usr -type f | sort | while IFS= read -r file; do sha256sum "$file"; done |
  sed 's#  usr/#  /usr/#' >SHA256SUMS
find usr -type d | sort | while IFS= read -r directory; do
  [ -d "/$directory" ] || install -d -o root -g root -m 0755 "/$directory"
done
find usr -type f | sort | while IFS= read -r file; do
  chmod go-w "$file"
  # /usr/share may be another file system, where mv copies: first to a name of its own.
  mv -f "$file" "/$file.new"
  mv -f "/$file.new" "/$file"
done
mv -f SHA256SUMS /usr/lib/berth/SHA256SUMS
cd /
rm -r "$1"
# Red Hat's labels.
if command -v restorecon >/dev/null; then restorecon -R /usr/lib/berth /usr/share/berth; fi
