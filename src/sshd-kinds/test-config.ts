import { mkdir } from 'node:fs/promises';
import { BerthError, isErrno } from '../errors/berth-error.ts';
import { saidBySshd } from '../sshd-lint/sshd-effective.ts';
import { runProgram } from '../system/run-program.ts';

/** Milliseconds; sshd takes some ten. */
const patience = 20_000;

/**
 * Runs `sshd -t`. Before sshd ran for the first time since the boot, its privilege separation directory in /run does not
 * exist; it is created then, as the unit of sshd would.
 *
 * @throws {BerthError} `sshd-missing`, `sshd-refused`
 */
export async function testSshdConfig(sshd: string, config: string): Promise<void> {
  const reason = await refusal(sshd, config);
  const directory = /Missing privilege separation directory: (\/run\/\S+)/.exec(reason ?? '')?.[1];
  if (directory !== undefined) await mkdir(directory, { mode: 0o755, recursive: true });
  const last = directory === undefined ? reason : await refusal(sshd, config);
  if (last === undefined) return;
  throw new BerthError(`sshd refuses ${config}: ${last}`, { code: 'sshd-refused' });
}

/** What sshd says against the file; undefined if it accepts it. */
async function refusal(sshd: string, config: string): Promise<string | undefined> {
  const { error, stderr } = await runProgram(sshd, ['-t', '-f', config], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    timeout: patience,
    cwd: '/',
  });
  if (error === undefined) return undefined;
  if (isErrno(error, 'ENOENT', 'EACCES'))
    throw new BerthError(`could not run ${sshd}`, { code: 'sshd-missing', cause: error });
  return saidBySshd(stderr, error);
}
