umask 022; set -e; cd "$0"; all=.all.$$; trap "rm -f $all" EXIT
cat >$all; mkdir -p lib; from=1
while [ $# -gt 0 ]; do
  tail -c +$from $all | head -c "$2" >"$1.$$"; chmod 755 "$1.$$"; mv -f "$1.$$" "$1"
  from=$((from + $2)); shift 2
done
: >.complete
