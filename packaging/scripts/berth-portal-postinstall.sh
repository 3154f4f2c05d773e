#!/bin/sh
exec /usr/lib/berth/share/packaging/installed berth-portal 'OnDemand and the clusters' \
  'getting-started-portal.md, from "2. Configure it"' "$@"
