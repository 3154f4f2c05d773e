import { chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { TestUsers } from '../../../rig/site/test-users.ts';
import { Portal } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { UserKubectl } from '../../../rig/site/user-kubectl.ts';

let site: Site;
let newcomers: TestUsers;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
});

afterAll(async () => {
  await newcomers.removeNamespaces();
});

/** Contents that a user or gcloud wrote, in a style that Berth would not use. */
const theirs = `# mine
users: [{name: 'md-una', user: {token: "t"}},]
contexts:   []
\tclusters: broken? not ours to say
`;

describe.each([
  ['auth managed', 'md-una', { auth: { type: 'managed' } }, {}],
  ['auth gke', 'md-ugo', { auth: { type: 'gke', svc_acct_file: '~/gke.json' } }, {}],
  [
    'credentials mode none',
    'md-uli',
    { auth: { type: 'oidc' } },
    { credentials: { mode: 'none' } },
  ],
])('with %s', (_mode, name, job, options) => {
  it('the kubeconfig does not change, and the namespace is created', async () => {
    const portal = await Portal.make(site, {
      clusters: { prod: job },
      berth: { clusters: { prod: options } },
    });
    const una = await newcomers.create(name);
    await site.keycloak.addUser(name);
    const { kubeconfigFile } = new UserKubectl(site, una);
    await mkdir(dirname(kubeconfigFile), { recursive: true });
    await writeFile(kubeconfigFile, theirs, { mode: 0o640 });
    await chown(kubeconfigFile, una.uid, una.gid);
    const before = await stat(kubeconfigFile, { bigint: true });

    const login = await portal.prePun(name, await portal.login(name));
    const after = await stat(kubeconfigFile, { bigint: true });

    expect(login.exitCode, login.stderr).toBe(0);
    expect(login.stderr).toContain('msg="namespace created"');
    expect(await readFile(kubeconfigFile, 'utf8')).toBe(theirs);
    expect([after.ino, after.mode, after.mtimeNs]).toEqual([
      before.ino,
      before.mode,
      before.mtimeNs,
    ]);
    await portal.remove();
  });
});
