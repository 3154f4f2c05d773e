import { freezeFunctions } from '../../../freeze-functions.ts';
import { factsFunction } from './proc-script.ts';
import { sweepMark } from './pod-processes.ts';

/** The name that the shell gives itself. */
const sweepName = 'berth-sweep';

/**
 * Words of a shell that looks through a pod's processes and signals them, as it is told by lines on its
 * standard input. Kubernetes ends nobody when an exec's client is gone, and no process of the host can see
 * into a pod. It needs /bin/sh and tr, of the same package as the `sleep` that the pod waits by.
 *
 * It first says its own PID. Each line is answered by lines, the last of which is a dot:
 * - `table`: a row of `podProcesses` for each process of this container
 * - `look`: before and after the PIDs, each with its start, the last PID that was given in the pod; all are
 *   looked at twice, since fork(2) takes the PID before the child is seen
 * - `kill -SIGNAL PID…`
 * - `hold PID…`: stops these, and says so when they are
 * - `freeze`, and then `thaw` (all) or `thawed` (each was let go on): see `freezeFunctions`
 */
export function sweepWords(): string[] {
  return ['/bin/sh', '-c', script, sweepName];
}

/**
 * Other containers of the pod (a site may inject some) are none of ours: no session comes out of the
 * container's cgroup.
 */
const script = String.raw`${factsFunction}
${freezeFunctions}
nl='
'
read -r home </proc/self/cgroup
ours() {
  facts "$1" && read -r group 2>/dev/null <"/proc/$1/cgroup" || return 1
  case $group in */../*) return 1 ;; "$home"*) ;; *) return 1 ;; esac
}
each() { for place in /proc/[0-9]*; do pid=${'${place#/proc/}'}; if ours "$pid"; then $1; fi; done; }
row() {
  env=$nl$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ")$nl mark=-
  case $env in
    *"$nl"BERTH_CONNECTION=?*)
      mark=${'${env#*"$nl"BERTH_CONNECTION=}'} mark=${'${mark%%"$nl"*}'}
      case $mark in *[!0-9.]*) mark=other ;; esac
      ;;
    *)
      [ "$parent" != 0 ] || case $(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline") in
        *"$nl"${sweepName}) mark=${sweepMark} ;;
      esac
      ;;
  esac
  read -r up _ </proc/uptime
  echo "$pid $parent $session $state $start $((${'${up%.*}${up#*.}'} - start)) $mark"
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
done`;
