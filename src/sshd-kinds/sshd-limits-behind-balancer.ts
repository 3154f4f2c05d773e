import type { ResolveConfigPath } from '../settings/config-overlay.ts';
import { lintSettings } from '../sshd-lint/lint-host.ts';
import { runProgram } from '../system/run-program.ts';
import { balancerLimitLines } from './rules/balancer-limit-lines.ts';

/** Milliseconds; it takes some ten. */
const patience = 20_000;

/**
 * The lines with which an sshd does not treat all who come through the balancers as one client, if ssh.yml has `balancers`.
 *
 * @param options path of `ssh.yml`, and absolute path of sshd(8), whose version decides
 */
export async function balancerLimits(options: {
  readonly settings: string;
  readonly overlay?: ResolveConfigPath | undefined;
  readonly sshd: string;
}): Promise<string[]> {
  const { balancers } = await lintSettings(options.settings, options.overlay);
  if (balancers.length === 0) return [];
  // Before 9.3, sshd does not know -V, and prints its version all the same.
  const { stdout, stderr } = await runProgram(options.sshd, ['-V'], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    timeout: patience,
    cwd: '/',
  });
  return balancerLimitLines(balancers, `${stdout}\n${stderr}`);
}
