import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const berth = join(installDirectory, 'berth');
let host: SshHost;

beforeAll(async () => {
  host = await SshHost.start({ mode: 'forced', users: { ada: [] } });
  await shell('install -d -m 0755 /run/new; cp -a /etc/berth/. /run/new');
});
afterAll(() => host.stop());

async function shell(script: string): Promise<{ exitCode: number | undefined; stdout: string }> {
  const { exitCode, stdout } = await host.asRoot(['sh', '-c', `umask 022; cd /run && ${script}`]);
  return { exitCode, stdout: stdout.toString() };
}

async function doctor(...options: string[]): Promise<CheckResult[]> {
  const { stdout } = await shell(`${berth} doctor ${options.join(' ')} -o json`);
  return (berthDocument(stdout) as { checks: CheckResult[] }).checks;
}

const wrong = (checks: readonly CheckResult[]): string[] =>
  checks
    .filter(({ status, id }) => status === 'failed' && id !== 'transfer-files')
    .map(({ id, message }) => `${id}: ${message}`);

/** The names and contents of what is installed. */
const installed = async (): Promise<string> =>
  (await shell('find /etc/berth /var/cache/berth -type f | sort | xargs cksum')).stdout;

describe('berth doctor --config-dir', () => {
  it('says what it reads, and finds nothing in a copy of the configuration', async () => {
    const checks = await doctor('--config-dir', './new');
    expect(checks.find(({ id }) => id === 'config-dir')).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^read from \/run\/new: ssh\.yml, profiles; /) as unknown,
    });
    expect(wrong(checks)).toEqual(wrong(await doctor()));
  });

  it('finds the mistakes of all files in the directory, and changes nothing', async () => {
    const before = await installed();
    await shell(
      [
        "echo 'imag: hpc/login:9' >new/profiles/other.yml",
        "echo 'host_path: [/scratch]' >new/admission.yml",
        "echo 'hostnam: login' >new/balancer.yml",
        "echo 'deadlin: 5s' >new/berth.yml",
      ].join('; '),
    );
    const found = wrong(await doctor('--config-dir', 'new')).join('\n');
    for (const file of ['profiles/other.yml', 'admission.yml', 'balancer.yml', 'berth.yml'])
      expect(found).toContain(`/run/new/${file}:1:1: `);
    expect(await installed()).toBe(before);
    await shell('rm new/profiles/other.yml new/admission.yml new/balancer.yml new/berth.yml');
  });

  it('judges a session by the new rules, as does berth plan --ssh', async () => {
    const plan = (options = '') =>
      shell(`${berth} plan --ssh --user ada --command true ${options} -o json`);
    await shell(
      `mv new/profiles new/former; install -d new/profiles
       for file in new/former/*.yml; do sed 's/^image: .*/image: localhost\\/trial:1/' $file >new/profiles/\${file##*/}; done`,
    );
    const trial = await plan('--config-dir new --profile base');
    expect(trial.stdout).toContain('localhost/trial:1');
    expect((await plan('--profile base')).stdout).not.toContain('localhost/trial:1');
    const ids = wrong(await doctor('--config-dir', 'new', '--user', 'ada')).join('\n');
    expect(ids).toMatch(/^image: .*localhost\/trial:1/m);
    await shell('rm -r new/profiles; mv new/former new/profiles');
  });

  it.each([
    ['a directory without a configuration', '--config-dir /run/sshd', 78, 'has no configuration'],
    ['a test session', '--config-dir new --user ada --start-session', 64, '--config-dir'],
  ])('refuses %s', async (_what, options, status, message) => {
    const { exitCode, stdout } = await shell(`${berth} doctor ${options} 2>&1`);
    expect({ exitCode, stdout }).toEqual({
      exitCode: status,
      stdout: expect.stringContaining(message) as unknown,
    });
  });
});
