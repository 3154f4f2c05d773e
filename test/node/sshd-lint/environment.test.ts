import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SshdFindingCode } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { LintHost } from './lint-host.ts';
import { type LintSshd, serve, stopServing } from './lint-sshd.ts';

let forced: LintHost;

beforeAll(async () => {
  forced = await LintHost.make([{ name: 'ann', shell: '/bin/sh', groups: ['berth'] }]);
});
afterEach(async () => {
  await stopServing();
  await forced.cleanHomes();
  await forced.write('etc/pam.d/sshd', forced.pam(''));
});
afterAll(() => forced.remove());

describe("the environment of the host's programs", () => {
  let nodeLogin: string;

  /** A login program in Node, like Berth's, with the same interpreter. */
  beforeAll(async () => {
    const real = await readFile(join(installDirectory, 'shell/login'), 'latin1');
    const node = /^#!\/usr\/bin\/env -S (\S+)/.exec(real)?.[1] ?? '';
    nodeLogin = await forced.write('node-login', `#!${node}\nconsole.log('INSIDE');\n`, 0o755);
  });

  const withNode = async (seed = '') =>
    seed + (await forced.example('forced-command')).replaceAll(forced.path('login'), nodeLogin);
  const lintArgs = () => ['--login', nodeLogin, '--user', 'ann'];
  /** Writes the user's code. @returns The value of the variable that loads it. */
  const evil = async () => {
    const code = "require('fs').writeFileSync(process.env.HOME + '/proof', 'ran');\n";
    return `--require=${await forced.writeInHome('ann', 'evil.cjs', code)}`;
  };
  const start = async (config: string, code?: SshdFindingCode) => {
    const { codes } = await forced.lint(config, ...lintArgs());
    expect(codes).toEqual(code === undefined ? [] : [code]);
    return serve(forced, config);
  };

  it('can be set by the client with AcceptEnv', async () => {
    await forced.allowKey('ann');
    const env = { NODE_OPTIONS: await evil() };
    const login = (sshd: LintSshd) =>
      sshd.ssh('ann', ['-o', 'SendEnv=NODE_OPTIONS', '--', 'true'], { env });
    const open = await start(await withNode('AcceptEnv NODE_*\n'), 'accept-env');
    expect(await login(open)).toMatchObject({ stdout: 'INSIDE' });
    expect(await forced.proof('ann')).toBe('ran');
    expect(await login(await start(await withNode()))).toMatchObject({ stdout: 'INSIDE' });
    expect(await forced.proof('ann')).toBeUndefined();
  });

  it('can be set in ~/.ssh/environment and environment= of a key', async () => {
    const option = await evil();
    const permitted = await withNode('PermitUserEnvironment yes\n');
    await forced.allowKey('ann');
    await forced.writeInHome('ann', '.ssh/environment', `NODE_OPTIONS=${option}\n`);
    await (await start(permitted, 'permit-user-environment')).ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBe('ran');
    await (await start(await withNode())).ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBeUndefined();

    await rm(join(forced.homeOf('ann'), '.ssh/environment'));
    await forced.allowKey('ann', `environment="NODE_OPTIONS=${option}"`);
    await (await start(permitted, 'permit-user-environment')).ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBe('ran');
    await (await start(await withNode())).ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBeUndefined();
  });

  it("loads a user's file, given a SetEnv that names it", async () => {
    await forced.allowKey('ann');
    const open = await start(await withNode(`SetEnv NODE_OPTIONS=${await evil()}\n`), 'set-env');
    expect(await open.ssh('ann', ['true'])).toMatchObject({ stdout: 'INSIDE' });
    expect(await forced.proof('ann')).toBe('ran');
  });

  it("can be set in ~/.pam_environment, given the line of Debian's /etc/pam.d/sshd", async () => {
    await forced.allowKey('ann');
    await forced.writeInHome('ann', '.pam_environment', `NODE_OPTIONS DEFAULT=${await evil()}\n`);
    const line = 'session required pam_env.so user_readenv=1 envfile=/etc/default/locale';
    await forced.write('etc/pam.d/sshd', forced.pam(line));
    await (await start(await withNode(), 'pam-user-environment')).ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBe('ran');
    await forced.write('etc/pam.d/sshd', forced.pam(line.replace('user_readenv=1 ', '')));
    await (await start(await withNode())).ssh('ann', ['true']);
    expect(await forced.proof('ann')).toBeUndefined();
  });
});
