# The first lines of hooks/pam-session: the close of a connection waits here for its turn, because hundreds of Node processes
# at once would take the memory and the processor time that logins need. scripts/outputs.ts sets $node and $options; the
# arguments are the hook's. In JavaScript all of this is a comment.

# How many closes run at the same time, of different users.
at_once=4

# Longer, and the close is left to `berth reap`, which looks after hundreds in one process. Seconds.
longest=40

# Moves itself to root's own slice, whatever cgroup sshd is in, before it takes what others wait for: in the scope that logind made,
# its user may stop all processes, root's too (KillSession). If it is still there, the close is left to `berth reap`.
in_scope='
  if [ -d /run/systemd/system ]; then
    systemd=org.freedesktop.systemd1 looks=0
    read -r random </proc/sys/kernel/random/uuid
    scope=berth-close-$random.scope
    if /usr/bin/timeout 2 /usr/bin/busctl --system call $systemd /org/freedesktop/systemd1 $systemd.Manager \
      StartTransientUnit "ssa(sv)a(sa(sv))" $scope fail \
      4 Description s "Cleanup after an SSH connection" Slice s berth-close.slice PIDs au 1 $$ \
      CollectMode s inactive-or-failed 0
    then
      # systemd moves it after it has answered.
      until /usr/bin/grep -qF "/$scope" /proc/self/cgroup || [ $looks = 50 ]; do
        /bin/sleep 0.02
        looks=$((looks + 1))
      done
    fi
    ! /usr/bin/grep -q "/user[.]slice/" /proc/self/cgroup || exit 75
  fi >/dev/null 2>&1
  exec "$@"'

# Lets logins go first.
at_low_priority='
  # sched(7): between sessions (setsid) with an autogroup each, only the nice value of the group counts.
  { echo 10 >/proc/self/autogroup; } 2>/dev/null
  {
    # Node alone keeps the turn of its user, on the descriptor of flock(1).
    exec 3>&-
    # A file system of the user may hold Node for ever, so it keeps the slot for a minute at most, and is killed after another:
    # `berth reap` does the rest.
    lives() {
      /usr/bin/timeout 60 /usr/bin/tail -s 0.1 --pid=$$ -f /dev/null
      [ $? = 124 ]
    }
    lives || exit
    exec 8>&-
    lives || exit
    kill -KILL $$
  } </dev/null >/dev/null 2>&1 &
  exec 8>&- /usr/bin/nice -n 10 "$@"'

# Takes the first slot of $at_once that is free or becomes free, on descriptor 8. Only one close looks for it, ten times a
# second; the others wait on descriptor 9 until it has one.
in_slot='
  slots=$1 longest=$2 looks=0
  shift 2
  exec 9>/run/berth/close-next.lock
  /usr/bin/flock -w $longest 9 || exit 75
  while [ $looks -lt $((longest * 10)) ]; do
    slot=0
    while [ $slot -lt $slots ]; do
      exec 8>"/run/berth/close-$slot.lock"
      ! /usr/bin/flock -n 8 || exec 9>&- "$@"
      slot=$((slot + 1))
    done
    looks=$((looks + 1))
    /bin/sleep 0.1
  done
  exit 75'

is_close() {
  [ "$1" = close ] || { [ "$1" != open ] && [ "$PAM_TYPE" = close_session ]; }
}

if is_close "$1" && [ -d /run/berth ]; then
  # Only root can open the locks.
  umask 077
  # An account may have several names, or one in several spellings.
  uid=$(/usr/bin/timeout 5 /usr/bin/id -u -- "$PAM_USER" 2>/dev/null) || uid=unknown
  # Each waits as one small process, flock(1), which becomes Node and so leaves sshd its parent. First it waits for other
  # closes of its user, who cannot hold up those of others by more than one.
  exec /usr/bin/flock --no-fork -w $longest -E 75 "/run/berth/close-of-$uid.lock" \
    /bin/sh -c "$in_scope" "$0" /bin/sh -c "$in_slot" "$0" $at_once $longest \
    /bin/sh -c "$at_low_priority" "$0" "$node" $options "$0" "$@"
fi
