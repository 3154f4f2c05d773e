facts() {
  stat=
  while IFS= read -r part || [ "$part" ]; do stat="$stat $part"; done 2>/dev/null <"/proc/$1/stat"
  [ "$stat" ] || return 1
  set -- ${stat##*) }
  # Of a process whose first thread has ended, others may live on.
  [ "$1" != Z ] || [ "${18}" -gt 1 ] || return 1
  state=$1 parent=$2 group=$3 session=$4 start=${20}
}
