import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { hookKubeconfig, Portal, type ClusterFile } from '../../rig/site/portal.ts';
import { credentialId, credentialOf, hookRequests } from '../../rig/site/hook-requests.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;

const managed: ClusterFile = { auth: { type: 'managed' } };

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
});

describe("OnDemand's auth type", () => {
  it.each<[string, string, object]>([
    ['managed', 'cl-managed', { type: 'managed' }],
    ['gke', 'cl-gke', { type: 'gke', svc_acct_file: '~/.gke/account.json' }],
    ['that is not said, so managed', 'cl-unsaid', {}],
  ])('%s: namespace and bindings; the kubeconfig stays whose it is', async (_, name, auth) => {
    const user = await newcomers.create(name);
    const portal = await Portal.make(site, { clusters: { prod: { auth } } });

    expect(await portal.prePun(name)).toMatchObject({ exitCode: 0 });

    expect(await cluster.get('rolebinding', `${name}-ood-user`, user.namespace)).toMatchObject({
      subjects: [{ kind: 'User', name: `oidc:${name}` }],
    });
    await expect(readFile(join(user.home, '.kube/config'))).rejects.toThrow('ENOENT');
    await portal.remove();
  });

  it.each([
    ['oidc', 'cl-oidc', ''],
    ['odic', 'cl-odic', 'code=cluster-auth-odic'],
  ])('%s: a credential in the kubeconfig as well', async (type, name, warned) => {
    const user = await newcomers.create(name);
    await site.keycloak.addUser(name);
    const portal = await Portal.make(site, { clusters: { prod: { auth: { type } } } });

    const { exitCode, stderr } = await portal.prePun(name, await portal.login(name));

    expect(exitCode).toBe(0);
    expect(stderr).toContain(warned);
    const kubeconfig = join(user.home, '.kube/config');
    const own = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    expect(await site.kubectl(own, { account: name, kubeconfig })).toMatchObject({
      stdout: `oidc:${name}`,
    });
    await portal.remove();
  });
});

describe('settings of one cluster', () => {
  it("apply only to it: prefixes, CIDRs, root's context", async ({ skip }) => {
    skip(site.skipReason('audit') !== undefined, site.skipReason('audit'));
    const { name } = await newcomers.create('cl-own');
    const portal = await Portal.make(site, {
      hookEnv: { NAMESPACE_PREFIX: '' },
      clusters: {
        one: { ...managed, namespace_prefix: 'o1-' },
        two: { ...managed, namespace_prefix: 'o2-' },
      },
    });
    const tokens = await Promise.all([hookKubeconfig(site), hookKubeconfig(site)]);
    const token = tokens.map((text) => tokenIn(text));
    await writeFile(portal.files.kubeconfig, twoContexts(tokens[0], token));
    await portal.writeBerth({
      clusters: {
        one: { subject_prefix: 'first:', allow_cidrs: ['10.1.0.0/16'], admin: { context: 'c-1' } },
        two: { job_pod_reaper: false, pull_secret: null, admin: { context: 'c-2' } },
      },
    });
    newcomers.alsoRemove('o1-cl-own', 'o2-cl-own');
    await cluster.deleteNamespacesAndWait(['o1-cl-own', 'o2-cl-own']);
    const mark = await site.audit.mark();

    expect(await portal.prePun(name)).toMatchObject({ exitCode: 0 });

    const by = new Map(
      (await hookRequests(portal, mark)).map((event) => [
        event.objectRef?.namespace ?? event.objectRef?.name,
        credentialOf(event),
      ]),
    );
    expect(by).toEqual(
      new Map([
        ['o1-cl-own', credentialId(token[0] ?? '')],
        ['o2-cl-own', credentialId(token[1] ?? '')],
      ]),
    );
    const subjects = async (namespace: string): Promise<unknown> =>
      (await cluster.get('rolebinding', 'cl-own-ood-user', namespace))?.subjects;
    expect(await subjects('o1-cl-own')).toMatchObject([{ name: 'first:cl-own' }]);
    expect(await subjects('o2-cl-own')).toMatchObject([{ name: 'oidc:cl-own' }]);
    const cidrs = async (namespace: string): Promise<string> =>
      JSON.stringify(
        (await cluster.get('networkpolicy', 'deny-from-other-namespaces', namespace))?.spec,
      );
    expect(await cidrs('o1-cl-own')).toContain('"10.1.0.0/16"');
    expect(await cidrs('o2-cl-own')).toContain('"127.0.0.1/32"');
    const reaper = 'cl-own-job-pod-reaper-rolebinding';
    expect(await cluster.get('rolebinding', reaper, 'o1-cl-own')).toBeDefined();
    expect(await cluster.get('rolebinding', reaper, 'o2-cl-own')).toBeUndefined();
    await portal.remove();
  });
});

function tokenIn(kubeconfig: string): string {
  const { users } = parse(kubeconfig) as { users: { user: { token: string } }[] };
  return users[0]?.user.token ?? '';
}

function twoContexts(kubeconfig: string, tokens: readonly string[]): string {
  return stringify({
    ...(parse(kubeconfig) as object),
    users: tokens.map((token, index) => ({ name: `u-${index + 1}`, user: { token } })),
    contexts: tokens.map((_, index) => ({
      name: `c-${index + 1}`,
      context: { cluster: 'c', user: `u-${index + 1}` },
    })),
  });
}
