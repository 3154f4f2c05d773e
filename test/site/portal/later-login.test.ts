import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LatencyProxy } from '../../rig/site/latency-proxy.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import {
  hookKubeconfig,
  Portal,
  pullSecretName,
  type PortalOptions,
} from '../../rig/site/portal.ts';
import { describeRequest, hookRequests } from '../../rig/site/hook-requests.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let newcomers: TestUsers;

/** Everything that a site can have the hook make. */
const full: PortalOptions = {
  clusters: { prod: { auth: { type: 'managed' } } },
  berth: {
    defaults: {
      resource_quota: { hard: { pods: '20', 'requests.cpu': '1000m' } },
      limit_range: { limits: [{ type: 'Container', default: { cpu: '0.5' } }] },
    },
  },
};

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
});

afterAll(async () => {
  await newcomers.removeNamespaces();
});

describe('the requests of a login', () => {
  it('the first time: makes the namespace, then each object, and reads nothing', async ({
    skip,
  }) => {
    skip(site.skipReason('audit') !== undefined, site.skipReason('audit'));
    const portal = await Portal.make(site, full);
    const { name, namespace } = await newcomers.create('ll-first');
    const mark = await site.audit.mark();

    await portal.prePun(name);

    const [first, ...others] = (await hookRequests(portal, mark)).map(describeRequest);
    expect(first).toBe(`create namespaces ${namespace}`);
    expect(others.sort()).toEqual([
      'patch limitranges ondemand',
      'patch networkpolicies deny-from-other-namespaces',
      `patch resourcequotas ondemand`,
      `patch rolebindings ${name}-job-pod-reaper-rolebinding`,
      `patch rolebindings ${name}-ood-initializer`,
      `patch rolebindings ${name}-ood-user`,
      `patch secrets ${pullSecretName}`,
      'patch serviceaccounts default',
    ]);
    await portal.remove();
  });

  it('later: at most 8 requests, and the stamp is the only one that writes', async ({ skip }) => {
    skip(site.skipReason('audit') !== undefined, site.skipReason('audit'));
    const portal = await Portal.make(site, full);
    const { name, namespace } = await newcomers.create('ll-later');
    await portal.prePun(name);
    const mark = await site.audit.mark();

    await portal.prePun(name);

    const requests = (await hookRequests(portal, mark)).map(describeRequest).sort();
    expect(requests.length).toBeLessThanOrEqual(8);
    expect(requests).toEqual([
      'get limitranges ondemand',
      'get networkpolicies deny-from-other-namespaces',
      'get resourcequotas ondemand',
      `get secrets ${pullSecretName}`,
      'get serviceaccounts default',
      'list rolebindings',
      `patch namespaces ${namespace}`,
    ]);
    await portal.remove();
  });

  it('on a host that lost its state: at most one more request', async ({ skip }) => {
    skip(site.skipReason('audit') !== undefined, site.skipReason('audit'));
    const { name, namespace } = await newcomers.create('ll-other');
    const before = await Portal.make(site, full);
    await before.prePun(name);
    const other = await Portal.make(site, full);
    const mark = await site.audit.mark();

    expect((await other.prePun(name)).stderr).toContain('msg="namespace kept"');

    const requests = await hookRequests(other, mark);
    const refused = requests.filter(({ responseStatus }) => responseStatus?.code === 409);
    expect(refused.map(describeRequest)).toEqual([`create namespaces ${namespace}`]);
    expect(requests).toHaveLength(8);
    await before.remove();
    await other.remove();
  });
});

describe('over a network with 100 ms in each direction', () => {
  const delayMs = 100;
  const roundTrip = 2 * delayMs;
  /** The handshake of TLS 1.3; TCP's own is not delayed here. */
  const connecting = roundTrip;

  let proxy: LatencyProxy;
  let portal: Portal;
  const people = ['ll-far-0', 'll-far-1', 'll-far-2'];

  beforeAll(async () => {
    proxy = await LatencyProxy.open(new URL(site.server), delayMs);
    const server = { endpoint: proxy.url, cert_authority_file: site.ca.file };
    portal = await Portal.make(site, {
      ...full,
      clusters: { prod: { auth: { type: 'managed' }, server } },
      kubeconfig: await hookKubeconfig(site, proxy.url),
    });
    await newcomers.createAll(people);
  });

  afterAll(async () => {
    await portal.remove();
    await proxy.close();
  });

  /** Milliseconds on the wire; the shortest of three, for a machine that does other things as well. */
  async function onTheWire(): Promise<number> {
    const from = proxy.passages.length;
    for (const name of people) expect(await portal.prePun(name)).toMatchObject({ exitCode: 0 });
    const passages = proxy.passages.slice(from);
    expect(passages).toHaveLength(people.length);
    return Math.min(...passages.map((each) => each.lastToClient - each.firstFromClient));
  }

  it('a first login waits for two round trips, on one connection', async () => {
    const took = await onTheWire();

    expect(took).toBeGreaterThanOrEqual(connecting + 2 * roundTrip);
    expect(took).toBeLessThan(connecting + 3 * roundTrip);
  });

  it('a later login waits for one', async () => {
    const took = await onTheWire();

    expect(took).toBeGreaterThanOrEqual(connecting + roundTrip);
    expect(took).toBeLessThan(connecting + 2 * roundTrip);
  });
});
