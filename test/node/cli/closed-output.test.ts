import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialCachePath } from '../../../src/credentials/credential-cache.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const inShell = (text: string) =>
  execa('sh', ['-c', text, 'sh', join(installDirectory, 'berth')], { reject: false, cwd: '/' });

describe('with a closed standard output', () => {
  it.each([
    'version',
    '--version',
    '--help',
    'explain token-expired',
    'completion zsh',
    'render policies',
    'subid plan -o json',
    'help sessions list',
  ])('berth %s says that its output is lost', async (command) => {
    expect(await inShell(`"$1" ${command} >&-`)).toMatchObject({
      exitCode: 74,
      stderr: expect.stringMatching(
        /^berth: standard output cannot be written: EBADF.* \[output-failed\]\nnext: It is closed\./m,
      ) as unknown,
    });
  });

  it('a command that prints nothing there ends as always', async () => {
    expect(await inShell('"$1" doctr >&-')).toMatchObject({ exitCode: 64 });
  });

  it.each(['>/dev/null', '2>&-', '>/dev/null 2>&-', '<&-'])(
    'but not with %s',
    async (redirected) => {
      expect(await inShell(`"$1" version ${redirected}`)).toMatchObject({
        ...{ exitCode: 0, stderr: '' },
      });
    },
  );
});

describe('kube-credential', () => {
  const server = 'https://kube.example.org:6443';
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'berth-closed-output-'));
    const file = join(home, credentialCachePath(server));
    await mkdir(dirname(file), { recursive: true });
    const expiry = Date.now() / 1000 + 3600;
    const cache = { version: 1, cluster: 'prod', server, token: 'abc', expiry };
    await writeFile(file, JSON.stringify(cache), { mode: 0o600 });
  });
  afterAll(() => rm(home, { recursive: true }));

  const answer = (redirected: string) => {
    const info = {
      ...{ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' },
      spec: { interactive: false, cluster: { server } },
    };
    const env = { HOME: home, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    const program = join(installDirectory, 'shell/kube-credential');
    return execa('sh', ['-c', `"$1" ${redirected}`, 'sh', program], { reject: false, env });
  };

  it('with a closed standard output says that the credential is lost', async () => {
    expect(await answer('>&-')).toMatchObject({
      exitCode: 74,
      stderr: expect.stringMatching(
        /could not be written to standard output \[output-failed\]/,
      ) as unknown,
    });
  });

  it.each(['| cat', '>/dev/null', '2>&-', '<&-'])('but not with %s', async (redirected) => {
    expect(await answer(redirected)).toMatchObject({ exitCode: 0, stderr: '' });
  });
});
