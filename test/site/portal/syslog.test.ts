import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warningCodes } from '../../rig/log-lines.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import {
  type HookResult,
  installDirectory,
  Portal,
  type PortalTokens,
} from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { run } from '../../../src/companions/verify/run-client.ts';

let site: Site;
let portal: Portal;
let newcomers: TestUsers;
let eve: TestUser;
let directory: string;

beforeAll(async () => {
  await ensurePackages(['rsyslog']);
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  eve = await newcomers.create('sy-eve');
  await site.keycloak.addUser(eve.name);
  portal = await Portal.make(site);
  directory = await mkdtemp(join(publicDirectory, 'syslog-'));
  const script = new URL('syslog.sh', import.meta.url).pathname;
  const alone = [
    'unshare',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    'bash',
    script,
    directory,
  ];
  portal.wrapArgv = (argv) => [...alone, ...argv];
});
afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
  await rm(directory, { recursive: true });
});

/** A login, and what is in syslog after it. */
async function login(
  user: string,
  tokens: PortalTokens,
): Promise<HookResult & { readonly lines: readonly string[] }> {
  const result = await portal.prePun(user, tokens);
  const lines = (await readFile(join(directory, 'log'), 'utf8')).split('\n');
  return { ...result, lines: lines.filter((line) => line.includes(' berth: ')) };
}

describe('the messages of a login, which nginx_stage drops or joins into one line', () => {
  it('are in syslog from warning level, without a token', async () => {
    const { idToken } = await portal.login(eve.name);
    const { exitCode, stderr, lines } = await login(eve.name, { idToken });
    expect(exitCode, stderr).toBe(0);
    expect(warningCodes(stderr)).toEqual(['refresh-token-missing']);
    expect(lines).toHaveLength(2);
    // Two processes send them at once.
    const [warning = ''] = lines.filter((line) => line.includes('level=warning'));
    expect(warning).toMatch(
      / berth: level=warning msg="there is no refresh token: .* user=sy-eve session=\S+ cluster=prod .*code=refresh-token-missing hint="[^"]+"$/,
    );
    expect(lines.join('\n')).not.toContain(String(idToken).split('.')[2]);
  });

  it('are one if there is no problem, whose ID is in the audit log of the cluster, too', async () => {
    const { exitCode, lines } = await login(eve.name, await portal.login(eve.name));
    expect({ exitCode, count: lines.length }).toEqual({ exitCode: 0, count: 1 });
    const [, id = ''] =
      / berth: level=info msg="portal login" user=sy-eve session=(\d+\.\d+@\S+) exit=0 took_ms=\d+ configuration_ms=\d+ credentials_ms=\d+ clusters_ms=\d+$/.exec(
        lines[0] ?? '',
      ) ?? [];
    await site.audit.mark();
    const files = ['--file', join(directory, 'log'), site.audit.file];
    const berth = join(installDirectory, 'berth');
    const { stdout } = await run(berth, ['trace', id, ...files]);
    const traced = stdout.toString().trimEnd().split('\n');
    // Before it: the hook's requests.
    expect(traced.pop()).toContain('msg="portal login"');
    expect(traced.length).toBeGreaterThan(1);
    for (const line of traced) expect(line).toMatch(/ audit: \w+ .* agent="berth \(session /);
    expect(stdout.toString()).toMatch(/ audit: patch namespaces \S*sy-eve 200 user=/);
  });

  it('are all in syslog for a failed login', async () => {
    const broken = join(portal.files.clustersDir, 'broken.yml');
    await writeFile(broken, 'v2: {job: {adapter: kubernetes, auth: {type: oidcc}}}\n');
    const { idToken } = await portal.login(eve.name);
    const { exitCode, stderr, lines } = await login(eve.name, { idToken });
    await rm(broken);
    expect(exitCode).not.toBe(0);
    const said = stderr.split('\n').filter((line) => /^level=(?:warning|error)/.test(line));
    expect(said.map((line) => /code=(\S+)/.exec(line)?.[1]).sort()).toEqual([
      'cluster-value-invalid',
      'refresh-token-missing',
    ]);
    const texts = lines.map((line) => line.replace(/^.*? berth: /, ''));
    const end = /^level=info msg="portal login" .* exit=[1-9]/;
    expect(texts.filter((text) => end.test(text))).toHaveLength(1);
    expect(texts.filter((text) => !end.test(text)).sort()).toEqual(said.sort());
  });
});
