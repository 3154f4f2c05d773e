import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  retainSecret,
  releaseSecret,
} from '../../../../src/sessions/backends/pod/presence/session-secret.ts';
import { type ApiClient, apiClient } from '../../../../src/kube/api-client.ts';
import { requestToken } from '../../../../src/kube/request-token.ts';
import { whoAmI } from '../../../../src/kube/required-rights.ts';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';

let site: Site;
let cluster: LiveCluster;
let nodeToken: string;

const namespace = 'u-ss-ada';
const name = 'berth-session';
const [login1, login2] = ['login1.example.org', 'login2.example.org'];

/** A namespace as PAM's hook leaves it, and the account of the login nodes with its own rights. */
beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  await cluster.kubectl(['apply', '-k', 'etc/kubernetes']);
  await cluster.kubectl(['apply', '-k', 'etc/kubernetes/ssh-sessions']);
  await cluster.deleteNamespacesAndWait([namespace]);
  const labels = { 'app.kubernetes.io/name': 'open-ondemand' };
  const metadata = { name: namespace, labels, annotations: { 'openondemand.org/owner': 'ss-ada' } };
  await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata });
  await cluster.create({
    ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
  });
  const account = ['create', 'token', 'berth-login', '-n', 'ondemand'];
  nodeToken = (await cluster.kubectl(account)).trim();
});
afterAll(() => cluster.deleteNamespaces([namespace]));

async function withClient<T>(token: string, work: (client: ApiClient) => Promise<T>): Promise<T> {
  const server = { url: site.server, ca: site.ca.pem, token };
  const client = apiClient(server, AbortSignal.timeout(20_000));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/** What a login node does at a user's first connection. @returns the token of the sessions */
const opens = (loginHost: string): Promise<string> =>
  withClient(nodeToken, async (client) => {
    const secret = { namespace, name, loginHost };
    const { boundTo } = await retainSecret(client, secret, Date.now());
    const lifetimeSeconds = 3600;
    const wanted = { namespace, account: 'berth-session', lifetimeSeconds, boundTo };
    return (await requestToken(client, wanted)).token;
  });

/** What it does at the last one. */
const closes = (loginHost: string): Promise<void> =>
  withClient(nodeToken, (client) =>
    releaseSecret(client, { namespace, name, loginHost }, { now: Date.now() }),
  );

const isGood = async (token: string): Promise<boolean> =>
  withClient(token, whoAmI).then(
    (who) => who === `system:serviceaccount:${namespace}:berth-session`,
    () => false,
  );
/** The API server remembers a good token for some seconds. */
const isDead = (token: string): Promise<true> =>
  waitFor({ what: 'the token to be dead', timeoutMs: 60_000, everyMs: 500 }, async () =>
    (await isGood(token)) ? undefined : true,
  );

describe('the Secret of the sessions on two login nodes', () => {
  it("is deleted with the user's last connection on any node, and tokens stay valid until then", async () => {
    const [one, two] = [await opens(login1), await opens(login2)];
    await opens(login2);

    await closes(login1);

    expect(await cluster.get('secret', name, namespace)).toBeDefined();
    expect(await isGood(two)).toBe(true);

    await closes(login2);

    expect(await cluster.get('secret', name, namespace)).toBeUndefined();
    await isDead(one);
    await isDead(two);
  });

  it('is deleted although the user marks it for another node and keeps changing it', async () => {
    const token = await opens(login1);
    await cluster.kubectl([
      ...['annotate', 'secret', name, '-n', namespace],
      'login.berth.dev/login2.example.org=open',
    ]);
    const over = new AbortController();
    const changing = (async () => {
      for (let turn = 0; !over.signal.aborted; turn += 1)
        await withClient(nodeToken, (client) =>
          client.send({
            method: 'PATCH',
            path: `/api/v1/namespaces/${namespace}/secrets/${name}`,
            contentType: 'application/merge-patch+json',
            body: JSON.stringify({ metadata: { annotations: { turn: String(turn) } } }),
          }),
        );
    })();

    await closes(login1);
    over.abort();
    await changing;

    expect(await cluster.get('secret', name, namespace)).toBeUndefined();
    await isDead(token);
  });

  /** The user may: `ood-user` lets them change Secrets. */
  const hold = (): Promise<void> =>
    cluster.patch('secret', name, namespace, {
      metadata: { finalizers: ['example.org/mine', 'example.org/more'] },
    });

  it('is deleted although a finalizer of the user holds it', async () => {
    const token = await opens(login1);
    await hold();

    await closes(login1);

    expect(await cluster.get('secret', name, namespace)).toBeUndefined();
    await isDead(token);
  });

  it('is created again if the user has deleted it and a finalizer holds it', async () => {
    await opens(login1);
    await hold();
    await cluster.kubectl(['delete', 'secret', name, '-n', namespace, '--wait=false']);
    const held = await cluster.get('secret', name, namespace);
    expect(held?.metadata.deletionTimestamp).toBeDefined();

    const token = await opens(login1);

    const anew = await cluster.get('secret', name, namespace);
    expect(anew?.metadata.deletionTimestamp).toBeUndefined();
    expect(anew?.metadata.uid).not.toBe(held?.metadata.uid);
    expect(await isGood(token)).toBe(true);
    await closes(login1);
  });

  it('is created again at the next login, and closing twice is not an error', async () => {
    const token = await opens(login1);
    await closes(login1);
    await closes(login1);
    const again = await opens(login1);

    expect(await isGood(again)).toBe(true);
    await isDead(token);
    await closes(login1);
  });

  it('is kept if somebody logs in on another node while it is being deleted', async () => {
    for (let round = 0; round < 8; round += 1) {
      await opens(login1);
      const [token] = await Promise.all([opens(login2), closes(login1)]);
      expect(await isGood(token)).toBe(true);
      await closes(login2);
    }
  });
});
