import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, assert, beforeAll, describe, expect, it } from 'vitest';
import { fingerprint } from '../../rig/site/directory-snapshot.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { Portal, type HookResult } from '../../rig/site/portal.ts';
import { hookRequests } from '../../rig/site/hook-requests.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
/** A host on which no login ever was. */
let untouched: Portal;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site);
  untouched = await Portal.make(site);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
  await untouched.remove();
});

/** Somebody who is known to the identity provider and never logged in at the portal. */
async function come(name: string): Promise<TestUser> {
  await site.keycloak.addUser(name);
  return newcomers.create(name);
}

describe('a plan changes nothing anywhere:', () => {
  it.for<[string, string, (name: string) => Promise<HookResult>]>([
    ['berth plan', 'dry-plan', (name) => portal.berth('plan', '--user', name)],
    [
      'pre-pun --dry-run',
      'dry-hook',
      async (name) => portal.prePun(name, await portal.login(name), '--dry-run'),
    ],
  ])('%s', async ([, name, run], { skip }) => {
    const user = await come(name);
    await portal.prePun(name, await portal.login(name));
    await cluster.waitForControllers(user.namespace);
    await cluster.delete('networkpolicy', 'deny-from-other-namespaces', user.namespace);
    const look = async (): Promise<unknown> => [
      await fingerprint(user.home),
      await fingerprint(portal.files.stateDir),
      await cluster.dump(user.namespace),
    ];
    const before = await look();
    const reason = site.skipReason('audit');
    const mark = reason === undefined ? await site.audit.mark() : undefined;

    const { exitCode } = await run(name);

    expect(exitCode).toBe(1);
    expect(await look()).toEqual(before);
    // The half that needs the audit log.
    skip(reason !== undefined, reason);
    assert(mark !== undefined);
    const requests = await hookRequests(portal, mark);
    const writes = requests.filter(({ verb }) => !['get', 'list'].includes(verb));
    expect(requests.length).toBeGreaterThan(writes.length);
    expect(writes).toHaveLength(1);
    for (const { requestURI } of writes) expect(requestURI).toContain('dryRun=All');
  });
});

describe('on a host without any login before', () => {
  it('a plan does not even cache the configuration', async () => {
    const { name } = await come('dry-host');
    // A younger configuration is not remembered by a login either.
    await sleep(2_100);

    expect((await untouched.berth('plan', '--user', name)).exitCode).toBe(1);
    expect((await untouched.prePun(name, {}, '--dry-run')).exitCode).toBe(1);

    expect(existsSync(untouched.files.stateDir)).toBe(false);
  });
});

describe('the output', () => {
  it('is the same text as of pre-pun --dry-run, and the same data as JSON', async () => {
    const { name } = await come('dry-forms');
    const [json, text, dry] = await Promise.all([
      portal.berth('plan', '--user', name, '-o', 'json'),
      portal.berth('plan', '--user', name),
      portal.prePun(name, {}, '--dry-run'),
    ]);

    const { sections } = JSON.parse(json.stdout) as {
      sections: { changes: { what: string }[] }[];
    };
    const changes = sections.flatMap((section) => section.changes);
    expect(changes.length).toBeGreaterThan(3);
    for (const { what } of changes) expect(text.stdout).toContain(what);
    const stamp = /last-hook-execution: "\d+"/g;
    expect(dry.stdout.replaceAll(stamp, '')).toBe(text.stdout.replaceAll(stamp, ''));
    expect([json, text, dry].map(({ exitCode }) => exitCode)).toEqual([1, 1, 1]);
  });

  it('never has a secret of the site or of the user', async () => {
    const user = await come('dry-secret');
    const own = {
      apiVersion: 'v1',
      kind: 'Config',
      users: [
        { name: 'other', user: { token: 'sEcReT-tOkEn-1' } },
        { name: 'basic', user: { username: 'u', password: 'sEcReT: pass"word' } },
        { name: 'cert', user: { 'client-key-data': 'c0VjUmVULWtleQ==' } },
      ],
    };
    await mkdir(join(user.home, '.kube'));
    await writeFile(join(user.home, '.kube/config'), JSON.stringify(own));
    await execa('chown', ['-R', `${user.uid}:${user.gid}`, join(user.home, '.kube')]);

    const outputs = await Promise.all([
      portal.berth('plan', '--user', user.name),
      portal.berth('plan', '--user', user.name, '-o', 'json'),
      portal.prePun(user.name, await portal.login(user.name), '--dry-run'),
    ]);

    const docker = await readFile(portal.files.dockerConfig, 'utf8');
    for (const { exitCode, stdout, stderr } of outputs) {
      expect(exitCode).toBe(1);
      expect(stdout).toContain('.kube/config');
      for (const secret of [
        'sEcReT',
        'c0VjUmVU',
        'dXNlcjpwYXNz',
        Buffer.from(docker).toString('base64'),
      ])
        expect(stdout + stderr).not.toContain(secret);
    }
  });
});
