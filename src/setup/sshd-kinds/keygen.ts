import { runProgram } from '../../system/run-program.ts';
import { existsSync } from 'node:fs';
import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { type HostCertificate, parseHostCertificate } from './rules/host-certificate.ts';

/** The certificate that ssh-keygen writes for a key: `KEY-cert.pub`, for the private and for the public key. */
export function certificateFileOf(key: string): string {
  return `${key.replace(/\.pub$/, '')}-cert.pub`;
}

/**
 * Reads a certificate of a host key.
 *
 * @returns undefined if there is none, or if it is not for a host
 * @throws {BerthError} `keygen-failed`
 */
export async function readHostCertificate(file: string): Promise<HostCertificate | undefined> {
  if (!existsSync(file)) return undefined;
  return parseHostCertificate(await runKeygen(['-L', '-f', file]));
}

/** A key as ssh(1) shows it to users. */
export interface KeyIdentity {
  /** `ED25519`, `RSA`, … */
  readonly type: string;
  /** `SHA256:…` */
  readonly fingerprint: string;
}

/** Of a key, from its public half if that is beside it. @throws {BerthError} `keygen-failed` */
export async function identityOf(key: string): Promise<KeyIdentity> {
  const text = await runKeygen(['-l', '-f', key]);
  const [, fingerprint = '', type = ''] = /(SHA256:\S+) .*\((\S+)\)$/m.exec(text) ?? [];
  return { type, fingerprint };
}

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
  env: Readonly<NodeJS.ProcessEnv> = {},
): Promise<string> {
  const { error, stdout, stderr } = await runProgram(program, args, {
    env: { ...env, LC_ALL: 'C', TZ: 'UTC' },
    cwd: '.',
    input: '',
  });
  if (error !== undefined) throw failure(args, error, stderr);
  return stdout;
}

function failure(args: readonly string[], cause: Error, stderr: string): BerthError {
  if (isErrno(cause, 'ENOENT'))
    return new BerthError('keygen-failed', `${program} does not exist`, {
      hint: 'Install the OpenSSH client.',
    });
  const said = stderr
    .split('\n')
    .map((line) => line.replaceAll('@', '').trim())
    .filter((line) => line !== '');
  const last = said.slice(-3).join(' ');
  return new BerthError(
    'keygen-failed',
    `ssh-keygen ${args[0] ?? ''}: ${last === '' ? cause.message : last}`,
    {
      cause,
    },
  );
}
