import { execFile } from 'node:child_process';
import { BerthError, isErrno } from '../errors/berth-error.ts';

const program = '/usr/bin/ssh-keygen';

/**
 * Runs ssh-keygen(1) without standard input: it asks for a passphrase on the terminal, or fails without one. Times are
 * printed in UTC.
 *
 * @param env the admin's environment, for SSH_AUTH_SOCK and SSH_ASKPASS
 * @throws {BerthError} `keygen-failed`
 */
export async function runKeygen(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { env: { ...env, LC_ALL: 'C', TZ: 'UTC' }, encoding: 'utf8' } as const;
    const child = execFile(program, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(failure(args, error, stderr));
    });
    child.stdin?.end();
  });
}

function failure(args: readonly string[], cause: Error, stderr: string): BerthError {
  if (isErrno(cause, 'ENOENT'))
    return new BerthError(`${program} does not exist`, {
      code: 'keygen-failed',
      hint: 'Install the OpenSSH client.',
    });
  const said = stderr
    .split('\n')
    .map((line) => line.replaceAll('@', '').trim())
    .filter((line) => line !== '');
  const last = said.slice(-3).join(' ');
  return new BerthError(`ssh-keygen ${args[0] ?? ''}: ${last === '' ? cause.message : last}`, {
    code: 'keygen-failed',
    hint: 'Check the named file. The private key of a CA needs mode 0600; with --agent, `ssh-add -l` must list it.',
    cause,
  });
}
