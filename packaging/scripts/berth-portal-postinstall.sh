#!/bin/sh
installed=/usr/lib/berth/packaging/installed
[ ! -e $installed ] || exec $installed berth-portal 'OnDemand and the clusters' \
  'berth init portal (or by hand: /usr/lib/berth/share/docs/getting-started-portal.md, from "2. Configure it")' "$@"
