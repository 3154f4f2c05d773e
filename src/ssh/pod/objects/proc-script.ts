/**
 * A function of sh(1) for scripts that look through a pod's /proc: `facts PID` sets what /proc/PID/stat
 * says (proc(5)), and fails where the process is none any more. Only what comes after the last `)` is not
 * the process's own word: the state, the parent, the group, the session, the start.
 */
export const factsFunction = String.raw`
facts() {
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  set -- ${'${stat##*) }'}
  [ "$1" != Z ] || return 1
  state=$1 parent=$2 group=$3 session=$4 start=${'${20}'}
}`;
