import { programName } from './program-name.ts';
import { podmanCall } from './podman-argv.ts';
import { holdsRawBytes, throughShell } from '../../../raw-words.ts';
import { withoutOdd, type ExecSession } from './runtime-exec.ts';
import type { GivenCall } from '../../../program-call.ts';
import type { SessionHost } from '../../request/session-host.ts';

/** Who relays a session's terminal: the OCI runtime, or podman with its conmon. */
export type TerminalBy = 'runtime' | 'podman';

/** `crun exec --tty` takes the size at the start only before this version (crun 907d0322). */
const crunResizes = [1, 8, 7] as const;

/**
 * The runtime wherever it follows a window that changes its size; podman, a quarter of a second slower,
 * where it does not.
 *
 * @param version What `RUNTIME --version` prints.
 */
export function terminalBy(runtime: string, version: string): TerminalBy {
  if (programName(runtime) !== 'crun') return 'runtime';
  const numbers = /\bversion (\d+)\.(\d+)(?:\.(\d+))?/.exec(version)?.slice(1) ?? [];
  for (const [place, wanted] of crunResizes.entries()) {
    const found = Number(numbers[place] ?? 0);
    if (found !== wanted) return found > wanted ? 'runtime' : 'podman';
  }
  return 'runtime';
}

/**
 * The same session as `runtimeExec`, with a terminal that podman relays.
 *
 * @param environmentFile Its environment, a line for each variable; not podman's own environment, which
 *   LD_PRELOAD or CONTAINERS_CONF would steer.
 */
export function podmanExec(
  host: SessionHost,
  containerId: string,
  session: ExecSession,
  environmentFile: string,
): GivenCall {
  const { user } = host;
  // What podman reads of a line is text, and ends at its end.
  const isOdd = (value: string): boolean => /[\r\n]/.test(value) || holdsRawBytes(value);
  const { words, env, cwd } = withoutOdd(session, isOdd);
  const call = podmanCall(host, [
    ...['exec', '--interactive', '--tty'],
    // Otherwise ctrl-p ctrl-q would leave the session running and lost.
    ...['--detach-keys', ''],
    ...['--user', `${user.uid}:${user.gid}`],
    ...['--workdir', cwd],
    ...['--env-file', environmentFile],
    containerId,
    ...(words.some(holdsRawBytes) ? throughShell(words) : words),
  ]);
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  return { ...call, given: { path: environmentFile, text: lines.join('') } };
}
