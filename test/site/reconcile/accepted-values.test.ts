import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { network } from '../../../src/config/schema/ip-address.ts';
import { parseBerthYml } from '../../../src/config/schema/berth-yml.ts';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import type { ClusterSettings, JsonObject } from '../../../src/config/schema/settings.ts';
import type { Finding } from '../../../src/system/errors/check-result.ts';
import { userObjects } from '../../../src/kube/objects/user-objects.ts';
import { objectsFinding } from '../../../src/diagnose/doctor/objects-check.ts';
import { apiClient, type ApiClient } from '../../../src/kube/api-client.ts';
import { podObject } from '../../../src/sessions/backends/pod/objects/pod-object.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { exampleCluster, exampleUser } from '../../unit/example-cluster.ts';

/** The values of the configuration, and what the API server says about them in a dry run. */
let site: Site;
let portal: Portal;
let hook: ApiClient;

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site);
  const { stdout } = await site.kubectl('create token berth-hook -n ondemand'.split(' '));
  const server = { url: site.server, ca: site.ca.pem, token: stdout.trim() };
  hook = apiClient(server, AbortSignal.timeout(120_000));
});
afterAll(async () => {
  hook.close();
  await portal.remove();
});

/** A dry run with the hook's own token, of a user without a namespace. */
function tried(change: Partial<ClusterSettings>): Promise<Finding> {
  const credentials = { mode: 'none' } as const;
  return objectsFinding(
    hook,
    userObjects({
      ...{ user: exampleUser, namespace: 'u-nobody-yet', subject: 'oidc:alice', now: 1 },
      cluster: { ...exampleCluster, credentials, ...change },
    }),
  );
}

describe('a network', () => {
  it.each([
    ...['192.168.0.1/24', '10.1.2.3/8', '2001:db8::1/64', '::ffff:10.0.0.0/104', 'FD00:0::/8'],
    ...['0:0:0:0:0:ffff:0:0/96', '::1.2.3.4/128', '192.0.2.3/31', '0.0.0.0/0', '::/0'],
  ])('%s is accepted as Berth sends it', async (text) => {
    const { cidr = '' } = network(text) ?? {};
    expect(await tried({ allowedCidrs: [cidr] })).toMatchObject({ status: 'ok' });
  });

  it.each([{ cidr: '10.0.0.0/8' }, { cidr: '2001:db8::/32', ports: [1, 65_535] }])(
    '%j is accepted for egress',
    async (one) => {
      expect(await tried({ networkEgress: { networks: [one] } })).toMatchObject({ status: 'ok' });
    },
  );

  it.each(['10.0.0.0/33', '10.0.0.0', 'fe80::1%eth0/64', ' 10.0.0.0/8'])(
    '%j, which Berth refuses, is refused by a dry run with the key that it comes from',
    async (text) => {
      expect(await tried({ allowedCidrs: [text] })).toMatchObject({
        status: 'failed',
        message: expect.stringContaining('cidr: Invalid value') as unknown,
        next: expect.stringContaining('NETWORK_POLICY_ALLOW_CIDR in hook.env') as unknown,
      });
    },
  );
});

/** The keys of a cluster in berth.yml as settings, unchecked. */
function unchecked(text: string): Partial<ClusterSettings> {
  const { resource_quota: quota, limit_range: range } = parse(text) as Partial<
    Record<'resource_quota' | 'limit_range', JsonObject>
  >;
  return {
    ...(quota === undefined ? {} : { resourceQuota: quota }),
    ...(range === undefined ? {} : { limitRange: range }),
  };
}

const container = (keys: string): string => `limit_range: {limits: [{type: Container, ${keys}}]}`;

describe('a quota and a limit', () => {
  it.each([
    'resource_quota: {hard: {cpu: 1e3, memory: 1Gi, pods: 01, secrets: "20", limits.cpu: 0.5}}',
    'resource_quota: {hard: {cpu: .5, memory: 1000m, requests.storage: 1E, "count/jobs.batch": 5}}',
    'resource_quota: {hard: {requests.nvidia.com/gpu: 4, hugepages-2Mi: 1Gi, services.nodeports: 0}}',
    'resource_quota: {hard: {pods: 5}, scopes: [BestEffort]}',
    'resource_quota: {hard: {pods: 5}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}',
    container('max: {cpu: 4, memory: 8Gi}, default: {cpu: 500m}, maxLimitRequestRatio: {cpu: 4}'),
    container('min: {x.org/gpu: 1}, default: {x.org/gpu: 1}, defaultRequest: {x.org/gpu: 1}'),
    'limit_range: {limits: [{type: PersistentVolumeClaim, max: {storage: 1Ti}}, {type: Pod, max: {cpu: 1}}]}',
  ])('%s is accepted', async (text) => {
    expect(() => parseBerthYml({ defaults: parse(text) as object }, 'f')).not.toThrow();
    expect(await tried(unchecked(text))).toMatchObject({ status: 'ok' });
  });

  it.each(
    [
      ...['cpu: -1', 'cpu: 1gi', 'memory: 8GB', 'pods: 0.5', 'pods: 500m', 'jobs: 5', 'CPU: 1'],
      ...['x.org/gpu: 1.5', 'x_/y: 1', '"cpu ": 1', 'cpu: "0x1"', 'storage: 1Gi'],
    ].map((one) => `resource_quota: {hard: {${one}}}`),
  )('%s is refused when it is read, and by the API server', (text) => isRefused(text));

  it.each([
    'resource_quota: {hard: {pods: 5}, scopes: [Best]}',
    'resource_quota: {hard: {secrets: 5}, scopes: [Terminating]}',
    'resource_quota: {hard: {pods: 5}, scopes: [Terminating, NotTerminating]}',
    'resource_quota: {hard: {pods: 5}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In}]}}',
    'resource_quota: {hard: {pods: 5}, scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: DoesNotExist}]}}',
    ...[
      ...['max: {cpu: 1}, min: {cpu: 2}', 'max: {cpu: 1}, default: {cpu: 2}', 'max: {pods: 1}'],
      ...['default: {cpu: 1}, defaultRequest: {cpu: 2}', 'maxLimitRequestRatio: {cpu: 0.5}'],
      'min: {cpu: 1}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 3}',
      'default: {x.org/gpu: 2}, defaultRequest: {x.org/gpu: 1}',
    ].map(container),
    'limit_range: {limits: [{type: Pod, default: {cpu: 1}}]}',
    'limit_range: {limits: [{type: pod, max: {cpu: 1}}]}',
    'limit_range: {limits: [{type: Pod}, {type: Pod}]}',
    'limit_range: {limits: [{type: PersistentVolumeClaim, min: {cpu: 1}}]}',
  ])('%s is refused when it is read, and by the API server', (text) => isRefused(text));

  async function isRefused(text: string): Promise<void> {
    expect(() => parseBerthYml({ defaults: parse(text) as object }, 'f')).toThrow();
    expect(await tried(unchecked(text))).toMatchObject({ status: 'failed' });
  }
});

describe('the pod of a profile', () => {
  it.each([
    ['hostname: $USER.Session_of.example.org'.replace('_', '-'), 'jane_doe'],
    ['hostname: LOGIN-$USER', `${'x'.repeat(56)}.y`],
    [
      'pod: {tolerations: [{operator: Exists}, {key: a/b, value: x, effect: NoExecute, seconds: 0}]}',
    ],
    ['pod: {node_selector: {example.org/pool: A_b.c, x: ""}, extended: {nvidia.com/gpu: 1}}'],
    ['pod: {volumes: {/d: {nfs: {server: nfs1, path: /x}}, /e: {claim: c}}, pull_secret: a.b}'],
    ['limits: {cpus: 0.0123, memory: 1G}\nlifetime: 1ms', 'j'],
  ])('%s is accepted', async (text, name = 'alice') => {
    const profile = parseProfile(parse(`image: a\nmounts: []\n${text}`), 'p', 'f');
    const input = {
      profile,
      namespace: 'default',
      loginHost: `${'h'.repeat(39)}-1`,
      groupNames: new Map(),
    };
    const pod = podObject({ ...input, user: { ...exampleUser, name }, connection: '1.2' });
    const { exitCode, stderr } = await site.kubectl(['create', '--dry-run=server', '-f', '-'], {
      input: JSON.stringify(pod),
    });
    expect(stderr).not.toMatch(/Invalid|Required|Duplicate/);
    expect(exitCode, stderr).toBe(0);
  });
});
