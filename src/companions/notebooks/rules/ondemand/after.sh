# OnDemand sources this file in the job after it has started the server, and makes connection.yml afterwards. The portal must
# not learn of the port before the server has it: another user of the node who took it would get the user's cookies.

# UIDs of those who listen at the port. In /proc/net/tcp, state 0A is LISTEN, and ports are hexadecimal.
listeners() {
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
    awk -v end="$(printf ':%04X' "$port")" '$4 == "0A" && substr($2, length($2) - 4) == end { print $8 }' |
    sort -u
}

end_job() {
  echo "berth: cannot start the server at port $port: $1" >&2
  echo "next: $2" >&2
  clean_up 1
}

# Twice in a row: a server that listens for IPv4 and IPv6 has one of them a moment before the other, and ends without it.
confirmed=0 deadline=$((SECONDS + 600))
while [ "$confirmed" -lt 2 ]; do
  found=$(listeners)
  case $found in
    "$UID") confirmed=$((confirmed + 1)) ;;
    '') confirmed=0 ;;
    *)
      # The server ends by itself. A podman that is ended while it starts leaves files.
      timeout 60 tail -f --pid="$SCRIPT_PID" /dev/null
      end_job "somebody else listens there (UID $(echo $found))" 'start another session: it gets another port'
      ;;
  esac
  kill -0 "$SCRIPT_PID" 2>/dev/null || end_job 'it has ended' 'see its output above, and start another session'
  [ "$SECONDS" -lt "$deadline" ] || end_job 'it does not listen after 600 s' 'see its output above: the image may be a large one to pull'
  sleep 0.5
done
