import { programName } from './program-name.ts';
import { podmanCommand } from './podman-argv.ts';
import { holdsRawBytes, throughShell } from '../../../raw-bytes.ts';
import { setVariablesByShell, type ExecSession } from './runtime-exec.ts';
import type { ProgramCallWithFile } from '../../../program-call.ts';
import type { SessionHost } from '../../../session/session-host.ts';

/** Which program relays a session's terminal: the OCI runtime, or podman with its conmon. */
export type TerminalRelay = 'runtime' | 'podman';

/** The first version in which `crun exec --tty` follows changes of the window size (crun 907d0322). */
const crunResizes = [1, 8, 7] as const;

/**
 * The runtime if it follows changes of the window size, else podman, which takes a quarter of a second longer.
 *
 * @param version Output of `RUNTIME --version`.
 */
export function terminalRelay(runtime: string, version: string): TerminalRelay {
  if (programName(runtime) !== 'crun') return 'runtime';
  const numbers = /\bversion (\d+)\.(\d+)(?:\.(\d+))?/.exec(version)?.slice(1) ?? [];
  for (const [place, wanted] of crunResizes.entries()) {
    const found = Number(numbers[place] ?? 0);
    if (found !== wanted) return found > wanted ? 'runtime' : 'podman';
  }
  return 'runtime';
}

/**
 * The same session as with `runtimeExec`, with a terminal that podman relays.
 *
 * @param environmentFile Path of a file with the session's environment, one line per variable. The variables must
 *   not be in podman's own environment, where LD_PRELOAD or CONTAINERS_CONF would change what podman does.
 */
export function podmanExec(
  host: SessionHost,
  containerId: string,
  session: ExecSession,
  environmentFile: string,
): ProgramCallWithFile {
  const { user } = host;
  // Podman reads text, and one line per variable.
  const isOdd = (value: string): boolean => /[\r\n]/.test(value) || holdsRawBytes(value);
  const { argv, env, cwd } = setVariablesByShell(session, isOdd);
  const call = podmanCommand(host, [
    ...['exec', '--interactive', '--tty'],
    // Else ctrl-p ctrl-q would detach from the session and leave it running.
    ...['--detach-keys', ''],
    ...['--user', `${user.uid}:${user.gid}`],
    ...['--workdir', cwd],
    ...['--env-file', environmentFile],
    containerId,
    ...(argv.some(holdsRawBytes) ? throughShell(argv) : argv),
  ]);
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  return { ...call, given: { path: environmentFile, text: lines.join('') } };
}
