facts() {
  stat=
  while IFS= read -r part || [ "$part" ]; do stat="$stat $part"; done 2>/dev/null <"/proc/$1/stat"
  [ "$stat" ] || return 1
  set -- ${stat##*) }
  [ "$1" != Z ] || return 1
  state=$1 parent=$2 group=$3 session=$4 start=${20}
}
