import { factsFunction } from './pod-proc.ts';

/**
 * Ends in a pod what some connections started there. Kubernetes ends nobody when an exec's client is gone,
 * and no process of the host can see into a pod: so the pod's own user looks through /proc, by the mark
 * that `login` gives (BERTH_CONNECTION). It needs /bin/sh and tr, of the same package as the `sleep` that
 * the pod waits by.
 */
export interface PodSweep {
  /** `PID.STARTTIME` of each; with none it is only looked what goes on. */
  readonly connections: readonly string[];
  /** What ignores a hangup, and what a daemon inside started (tmux), lives on. */
  readonly lingers: boolean;
  /** Nobody else is connected: what hides its environment (ssh-agent) counts as theirs. */
  readonly alone: boolean;
}

/** What was found in a pod. */
export interface Swept {
  /** Processes of the connections that are gone. */
  readonly ended: number;
  /** Those that could not be ended; of what lingers none. */
  readonly left: number;
  /** Processes of any session that go on. */
  readonly busy: number;
}

/** Words of the exec. */
export function sweepWords({ connections, lingers, alone }: PodSweep): string[] {
  const words = [lingers ? 'lingers' : '', alone ? 'alone' : '', ...connections];
  return ['/bin/sh', '-c', script, 'sweep', ...words];
}

/** @returns Nothing where the pod said something else. */
export function sweptBy(stdout: string): Swept | undefined {
  const [, ended, left, busy] = /^swept (\d+) (\d+) (\d+)$/m.exec(stdout) ?? [];
  if (ended === undefined) return undefined;
  return { ended: Number(ended), left: Number(left), busy: Number(busy) };
}

/**
 * The signals and times of `endConnection` on the host: as a terminal that is closed, as a shutdown, and
 * then for good. What has no parent here was begun from outside.
 */
const script = String.raw`
lingers=$1 alone=$2; shift 2; closed=" $* " nl='
'${factsFunction}
works() {
  [ "$1" != $$ ] && facts "$1" && [ "$parent" != $$ ] || return 1
  env=$nl$(tr '\0' '\n' 2>/dev/null <"/proc/$1/environ")$nl
  case $env in *"$nl"BERTH_CONNECTION=*) ;; *) [ "$parent" != 0 ] ;; esac
}
ours() {
  works "$1" || return 1
  case $env in
    *"$nl"BERTH_CONNECTION=?*)
      id=${'${env#*"$nl"BERTH_CONNECTION=}'}
      case $closed in *" ${'${id%%"$nl"*}'} "*) ;; *) false ;; esac
      ;;
    *) [ "$alone" ] ;;
  esac
}
hangs_up() {
  facts "$1" || return 1
  facts "$session" || return 0
  [ "$parent" -le 1 ]
}
all() {
  found= count=0
  for place in /proc/[0-9]*; do
    pid=${'${place#/proc/}'}
    if $1 "$pid"; then found="$found $pid" count=$((count + 1)); fi
  done
}
after() { sleep "$1" 2>/dev/null || sleep 1; }
all ours; first=$found ended=0 left=0
if [ "$lingers" ]; then
  for pid in $first; do if hangs_up "$pid"; then kill -HUP "$pid" 2>/dev/null; fi; done
  [ ! "$first" ] || after 0.4
else
  step=0
  while [ "$found" ] && [ $step -lt 30 ]; do
    case $step in 0) signal=HUP ;; 4) signal=TERM ;; 14) signal=KILL ;; esac
    case $step in 0 | 4 | 1[4-9] | 2?) kill -$signal $found 2>/dev/null ;; esac
    after 0.1; step=$((step + 1)); all ours
  done
  left=$count
fi
for pid in $first; do facts "$pid" || ended=$((ended + 1)); done
all works
printf 'swept %s %s %s\n' $ended $left $count`;
