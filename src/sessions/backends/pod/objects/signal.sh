around=
for place in /proc/[0-9]*; do
  case $(tr '\0' ' ' 2>/dev/null <"$place/cmdline") in
    "/bin/sh -c "*" $0$1 "*) around=${place#/proc/} ;;
  esac
done
[ "$around" ] || exit 1
for place in /proc/[0-9]*; do
  if facts "${place#/proc/}" && [ "$parent" = "$around" ]; then kill -s "$2" -- "-$group"; exit; fi
done
exit 1
