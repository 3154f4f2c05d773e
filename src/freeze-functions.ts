/**
 * Functions of sh(1) that stop all processes which their shell may signal, in its PID namespace, but for
 * itself: at one moment, since kill(2) with -1 holds the lock that fork(2) needs. The end of the shell lets
 * all go on, and so does what it started after the stop, in 15 seconds, where the shell itself was killed: a
 * busy host may need some of them for one look at all processes. From `hold` on the end of the shell lets
 * all go on, too: so that some can be stopped one by one before.
 */
export const freezeFunctions = String.raw`
guard= frozen=
last() { read -r _ _ _ _ last </proc/loadavg; }
hold() { frozen=1; }
freeze() {
  frozen=1
  kill -s STOP -- -1 2>/dev/null
  (trap 'kill $!; wait $!; exit' TERM; sleep 15 & wait; kill -s CONT -- -1) >/dev/null 2>&1 </dev/null &
  guard=$!
}
thawed() { frozen=; [ ! "$guard" ] || { kill "$guard"; wait "$guard"; }; guard=; }
thaw() { kill -s CONT -- -1 2>/dev/null; thawed; }
trap '[ ! "$frozen" ] || thaw' EXIT`;
