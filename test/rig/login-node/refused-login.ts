import { writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import type { ClientOptions } from '../../../src/companions/verify/run-client.ts';
import type { SshHost } from './ssh-host.ts';

export interface RefusedLogin {
  /** The one line that the user gets on stderr. */
  readonly line: string;
  readonly code: string;
  /** The line in syslog with the same session ID. */
  readonly syslogLine: string;
  readonly milliseconds: number;
}

/**
 * Logs in and expects a refusal: no stdout, one line on stderr, exit code 255, and in syslog a line with the
 * details and the session ID that the user was shown.
 */
export async function refusedLogin(
  host: SshHost,
  user: string,
  options: ClientOptions = {},
): Promise<RefusedLogin> {
  const began = performance.now();
  const { exitCode, stdout, stderr: output } = await host.ssh(user, ['echo in'], options);
  // sshd's message, if the home does not exist.
  const stderr = output.replace(/^Could not chdir to home directory [^\n]+\n/, '');
  const milliseconds = performance.now() - began;
  expect({ exitCode, stdout: stdout.toString() }, stderr).toEqual({ exitCode: 255, stdout: '' });
  const [, code = '', id = ''] =
    /^login: [^\n]+ \[([a-z-]+), session (\S+)\]\. [^\n]+\n$/.exec(stderr) ?? [];
  expect(code, stderr).not.toBe('');
  // Users must not be told to run commands, which the hints for root name.
  expect(stderr).not.toMatch(/`/);
  let found = '';
  await expect
    .poll(async () => {
      const lines = (await host.log()).split('\n');
      // PAM's lines have the same ID.
      const named = [`session=${id} `, `code=${code} `];
      found = lines.find((line) => named.every((part) => line.includes(part))) ?? '';
      return found;
    })
    .toMatch(new RegExp(`err berth:? level=error .*user=${user} code=${code} .*hint=`));
  return { line: stderr, code, syslogLine: found, milliseconds };
}

/** Writes a file on the host as root; objects are written as YAML. */
export async function writeOnHost(
  host: SshHost,
  path: string,
  contents: string | object,
  mode = 0o644,
) {
  const text = typeof contents === 'string' ? contents : stringify(contents);
  await writeFile(host.path(path), text, { mode });
}

/** Runs a bash script on the host as root; it must succeed. @returns its stdout */
export async function runAsRoot(host: SshHost, script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await host.asRoot(['bash', '-euc', script]);
  expect(exitCode, stderr).toBe(0);
  return stdout.toString();
}
