import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { seededRandom } from '../../rig/seeded-random.ts';
import { installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { repetitions } from '../../rig/soak.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site);
});
afterAll(() => portal.remove());

/** Root's kubeconfig as an admin keeps it: with comments, and a token that is soon over. */
async function commented(): Promise<string> {
  const { stdout: token } = await site.kubectl(
    '-n ondemand create token berth-hook --duration=10m'.split(' '),
  );
  return `# root's, for the pre-PUN hook
apiVersion: v1
kind: Config
clusters:
    - name: c      # the one and only
      cluster: { server: "${site.server}", certificate-authority: ${site.ca.file} }
users:
    - name: someone-else
      user: {token: not-to-be-touched}
    - name: hook
      user:
        token: '${token.trim()}' # renewed by berth
contexts: [{name: c, context: {cluster: c, user: hook}}]
current-context: c
`;
}

const read = (): Promise<string> => readFile(portal.files.kubeconfig, 'utf8');

/** The token of an entry, wherever in the file it stands. */
function tokenOf(text: string, user: string): string {
  const { users } = parse(text) as { users: { name: string; user: { token: string } }[] };
  return users.find(({ name }) => name === user)?.user.token ?? '';
}

async function nameOf(token: string): Promise<string> {
  const { stdout } = await site.kubectl(['auth', 'whoami', '-o', 'name'], { token });
  const review = await site.kubectl(['auth', 'whoami', '-o', 'json'], { token });
  return stdout === '' && review.stdout === ''
    ? ''
    : (JSON.parse(review.stdout) as { status: { userInfo: { username: string } } }).status.userInfo
        .username;
}

const hook = 'system:serviceaccount:ondemand:berth-hook';

describe('berth token rotate', () => {
  beforeEach(async () => {
    await writeFile(portal.files.kubeconfig, await commented(), { mode: 0o600 });
  });

  it('replaces the token by a new one that works, and changes no other byte', async () => {
    const before = await read();
    const { exitCode, stdout, stderr } = await portal.berth('token', 'rotate');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const after = await read();
    const [oldToken, newToken] = [tokenOf(before, 'hook'), tokenOf(after, 'hook')];
    expect(newToken).not.toBe(oldToken);
    expect(after).toBe(before.replace(oldToken, newToken));
    expect(await nameOf(newToken)).toBe(hook);
    expect((await stat(portal.files.kubeconfig)).mode & 0o777).toBe(0o600);
    expect(stdout).toMatch(
      /^prod: ondemand\/berth-hook has a new token in .*kubeconfig, user hook\n/,
    );
    expect(stdout).toMatch(/valid until \S+Z \((24 h|23 h 59 min)\)/);
    for (const secret of [oldToken, newToken])
      expect(stdout + stderr).not.toContain(secret.slice(0, 40));
  });

  it('prints when the old and the new token expire', async () => {
    const words = ['--lifetime', '2h', '--debug'];
    const oldToken = tokenOf(await read(), 'hook');
    const { stdout, stderr } = await portal.berth('token', 'rotate', ...words);
    expect(stderr).toMatch(
      /^debug: POST https:\S+\/serviceaccounts\/berth-hook\/token 201, \d+ ms$/m,
    );
    for (const secret of [oldToken, tokenOf(await read(), 'hook')])
      expect(stdout + stderr).not.toContain(secret.slice(0, 40));
    const minutesLeft = (pattern: RegExp): number =>
      Math.round((Date.parse(pattern.exec(stdout)?.[1] ?? '') - Date.now()) / 60_000);
    expect(minutesLeft(/^ {2}the old token is valid until (\S+)$/m)).toBeLessThanOrEqual(10);
    expect(minutesLeft(/^ {2}valid until (\S+) /m)).toBe(120);
  });

  it('tests a new token with --dry-run, and writes nothing', async () => {
    const before = await read();
    const names = await readdir(dirname(portal.files.kubeconfig));
    const { exitCode, stdout, stderr } = await portal.berth('token', 'rotate', '--dry-run');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: 'dry run: nothing was changed',
    });
    expect(stdout).toMatch(
      /^prod: would write a new token of user hook to \S+ \(ServiceAccount ondemand\/berth-hook; /,
    );
    expect(await read()).toBe(before);
    expect(await readdir(dirname(portal.files.kubeconfig))).toEqual(names);

    const absent = ['token', 'rotate', '--service-account', 'ondemand/absent'];
    const real = await portal.berth(...absent);
    const dry = await portal.berth(...absent, '--dry-run');
    expect(dry).toMatchObject({ exitCode: real.exitCode, stderr: real.stderr });
    expect(real.exitCode).not.toBe(0);
  });

  it('uses the context that `berth clusters list` shows', async () => {
    expect((await portal.berth('clusters', 'list')).stdout).toMatch(
      /^NAME .*\nprod +https:\S+ +oidc +oidc +c +- +\S+prod\.yml$/,
    );
    await writeFile(portal.files.kubeconfig, '{}', { mode: 0o600 });
    expect(await portal.berth('clusters', 'list')).toMatchObject({
      stdout: expect.stringMatching(/\nprod .* none +- +\S+prod\.yml$/) as unknown,
      stderr: expect.stringContaining('has no contexts') as unknown,
    });
  });

  it('renews a file with --kubeconfig, without the configuration of the site', async () => {
    const args = ['token', 'rotate', '--kubeconfig', portal.files.kubeconfig, '--context', 'c'];
    expect(await portal.run('berth', args)).toMatchObject({ exitCode: 0 });
    expect(await nameOf(tokenOf(await read(), 'hook'))).toBe(hook);
  });

  it('succeeds four times at once, and the last token works', async () => {
    const runs = await Promise.all([1, 2, 3, 4].map(() => portal.berth('token', 'rotate')));
    expect(runs.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(runs.map(() => [0, '']));
    expect(await nameOf(tokenOf(await read(), 'hook'))).toBe(hook);
  });

  it('leaves a complete file with a valid token, whenever it is killed', async () => {
    const before = await read();
    const random = seededRandom(116);
    let whole = 3_000;
    let killed = 0;
    for (let run = 0; killed < repetitions(6, 50) && run < repetitions(60, 500); run += 1) {
      const started = performance.now();
      const running = execa(
        join(installDirectory, 'berth'),
        ['token', 'rotate', '--config', portal.files.berth],
        { reject: false },
      );
      // Before a third of its time it only loads its program.
      const timer = setTimeout(() => running.kill('SIGKILL'), whole * (0.3 + 0.7 * random()));
      const { signal } = await running;
      clearTimeout(timer);
      if (signal === 'SIGKILL') killed += 1;
      else whole = performance.now() - started;
      const text = await read();
      expect(text.replace(tokenOf(text, 'hook'), '')).toBe(
        before.replace(tokenOf(before, 'hook'), ''),
      );
      expect(await nameOf(tokenOf(text, 'hook'))).toBe(hook);
    }
    expect(killed).toBe(repetitions(6, 50));
    expect(await portal.berth('token', 'rotate')).toMatchObject({ exitCode: 0 });
  });

  it('writes nothing if the account may not create tokens, and names the missing right', async () => {
    await site.kubectl('-n ondemand create serviceaccount powerless'.split(' '));
    try {
      const { stdout } = await site.kubectl('-n ondemand create token powerless'.split(' '));
      const text = (await read()).replace(tokenOf(await read(), 'hook'), stdout.trim());
      await writeFile(portal.files.kubeconfig, text, { mode: 0o600 });
      const { exitCode, stderr } = await portal.berth('token', 'rotate');
      expect(exitCode).toBe(77);
      expect(stderr).toContain('[api-forbidden]');
      expect(stderr).toContain(
        'next: The current token has no right to create tokens for ondemand/powerless',
      );
      expect(await read()).toBe(text);
    } finally {
      await site.kubectl('-n ondemand delete serviceaccount powerless'.split(' '));
    }
  });

  it("renews with another account's credential with --service-account", async () => {
    await site.kubectl('-n ondemand create serviceaccount rotator'.split(' '));
    await site.kubectl(
      '-n ondemand create rolebinding rotator --role=berth-token-rotate --serviceaccount=ondemand:rotator'.split(
        ' ',
      ),
    );
    try {
      const { stdout } = await site.kubectl('-n ondemand create token rotator'.split(' '));
      const text = (await read()).replace(tokenOf(await read(), 'hook'), stdout.trim());
      await writeFile(portal.files.kubeconfig, text, { mode: 0o600 });
      const result = await portal.berth(
        'token',
        'rotate',
        '--service-account',
        'ondemand/berth-hook',
      );
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      expect(await nameOf(tokenOf(await read(), 'hook'))).toBe(hook);
    } finally {
      await site.kubectl(
        '-n ondemand delete rolebinding/rotator serviceaccount/rotator'.split(' '),
      );
    }
  });

  it('reports that an expired token cannot renew itself, and how to create a new one', async () => {
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const dead = `${part({ alg: 'RS256' })}.${part({ sub: hook, exp: 1_700_000_000 })}.c2ln`;
    const text = (await read()).replace(tokenOf(await read(), 'hook'), dead);
    await writeFile(portal.files.kubeconfig, text, { mode: 0o600 });
    const { exitCode, stderr } = await portal.berth('token', 'rotate');
    expect(exitCode).toBe(78);
    expect(stderr).toContain('[api-unauthorized]');
    expect(stderr).toContain('berth token setup --cluster prod --from ADMIN_KUBECONFIG');
    expect(await read()).toBe(text);
  });

  it.each([
    [
      'a client certificate',
      async () => {
        const { cert, key } = await site.certificates.client('someone', []);
        return { 'client-certificate': cert, 'client-key': key };
      },
      'hook-token-not-in-kubeconfig',
    ],
    [
      'a plugin',
      () => ({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/true' } }),
      'admin-kubeconfig-unsupported',
    ],
    ['a token that is no JWT', () => ({ token: '0123456789abcdef' }), 'hook-token-account-unknown'],
  ] as const)('refuses %s, with what to do', async (_kind, user, code) => {
    const file = parse(await read()) as { users: unknown[] };
    file.users = [{ name: 'hook', user: await user() }];
    await writeFile(portal.files.kubeconfig, stringify(file), { mode: 0o600 });
    const { exitCode, stderr } = await portal.berth('token', 'rotate');
    expect(exitCode).toBe(78);
    expect(stderr).toContain(`[${code}]`);
    expect(stderr).toMatch(/\nnext: .*(token setup|--service-account)/);
  });

  it('renews the other tokens if one cluster is unreachable', async () => {
    const endpoint = 'https://127.0.0.1:1';
    await portal.writeCluster('dead', { server: { endpoint } });
    const file = parse(await read()) as Record<string, unknown[]>;
    file.clusters?.push({ name: 'd', cluster: { server: endpoint } });
    file.contexts?.push({ name: 'd', context: { cluster: 'd', user: 'hook-of-dead' } });
    file.users?.push({ name: 'hook-of-dead', user: { token: tokenOf(await read(), 'hook') } });
    await writeFile(portal.files.kubeconfig, stringify(file), { mode: 0o600 });
    const before = await read();
    const both = await portal.berth('token', 'rotate');
    await execa('rm', [join(portal.files.clustersDir, 'dead.yml')]);
    expect(both.exitCode).toBe(75);
    expect(both.stderr).toContain('[api-unreachable]');
    expect(both.stdout).toContain('prod: ondemand/berth-hook has a new token');
    expect(tokenOf(await read(), 'hook')).not.toBe(tokenOf(before, 'hook'));
    expect(tokenOf(await read(), 'hook-of-dead')).toBe(tokenOf(before, 'hook-of-dead'));
  });
});
