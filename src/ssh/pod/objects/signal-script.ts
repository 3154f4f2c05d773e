import { factsFunction } from './proc-script.ts';

/**
 * Words that hand a signal to a command `withEndMark` in a pod, as sshd does it: to its process group.
 * Kubernetes has no way for signals.
 *
 * @param nonce The command's. Here it stands in two halves: whoever looks must not find itself.
 */
export function signalWords(nonce: string, signal: string): string[] {
  const half = nonce.length / 2;
  const name = signal.replace(/^SIG/, '');
  return ['/bin/sh', '-c', script, nonce.slice(0, half), nonce.slice(half), name];
}

const script = String.raw`${factsFunction}
around=
for place in /proc/[0-9]*; do
  case $(tr '\0' ' ' 2>/dev/null <"$place/cmdline") in
    "/bin/sh -c "*" $0$1 "*) around=${'${place#/proc/}'} ;;
  esac
done
[ "$around" ] || exit 1
for place in /proc/[0-9]*; do
  if facts "${'${place#/proc/}'}" && [ "$parent" = "$around" ]; then kill -s "$2" -- "-$group"; exit; fi
done
exit 1`;
