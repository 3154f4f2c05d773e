nl='
'
read -r home </proc/self/cgroup
ours() {
  facts "$1" && read -r group 2>/dev/null <"/proc/$1/cgroup" || return 1
  case $group in */../*) return 1 ;; "$home"*) ;; *) return 1 ;; esac
}
# Of a process whose first thread has ended, another one may live on: the kernel takes its number for the process's own.
another() {
  [ "$state" = Z ] || return 1
  for thread in "/proc/$pid/task/"*; do
    ours "${thread##*/}" && pid=${thread##*/} && return
  done
  return 1
}
each() {
  for place in /proc/[0-9]*; do
    pid=${place#/proc/}
    if ours "$pid" || another; then $1; fi
  done
}
row() {
  env=$nl$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ")$nl mark=-
  case $env in
    *"$nl"BERTH_CONNECTION=?*)
      mark=${env#*"$nl"BERTH_CONNECTION=} mark=${mark%%"$nl"*}
      case $mark in *@*) ;; *[!0-9.]*) mark=other ;; esac
      case $mark in *[!0-9a-z.@-]*) mark=other ;; esac
      [ ${#mark} -le 96 ] || mark=other
      ;;
    *)
      [ "$parent" != 0 ] || case $(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline") in
        *"$nl$0") mark=sweep ;;
      esac
      ;;
  esac
  read -r up _ </proc/uptime
  echo "$pid $parent $session $state $start $((${up%.*}${up#*.} - start)) $mark"
}
still() {
  n=0
  for pid in $rest; do
    while [ $n -lt 100 ] && facts "$pid"; do
      case $state in [Tt]) break ;; esac
      n=$((n + 1))
      sleep 0.01
    done
  done
}
name() { echo "$pid $start"; }
echo $$
while read -r word rest; do
  case $word in
    table) each row ;;
    look) last; echo "$last"; each name; each name; last; echo "$last" ;;
    kill) kill $rest 2>/dev/null ;;
    hold) hold; kill -s STOP $rest 2>/dev/null; still ;;
    freeze | thaw | thawed) $word ;;
  esac
  echo .
done
