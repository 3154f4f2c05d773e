import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openSite, type Site } from '../../rig/site/site.ts';
import { jobObjects, jobPod, ReapSite } from './reap-site.ts';

let site: Site;
let host: ReapSite;

beforeAll(async () => {
  site = await openSite();
  host = await ReapSite.make(site);
});
afterEach(() => host.clear());
afterAll(() => host.remove());

/** The API server writes each `<` as six bytes, and no rule bounds the names of owners. */
const ownerReferences = [
  { apiVersion: 'x.example/v1', kind: 'X', uid: 'u', name: '<'.repeat(1_300_000) },
];

it.each(['Pod', 'ConfigMap', 'Service', 'Secret'])(
  'a %s of 8 MB in an answer keeps no pod of others alive',
  async (kind) => {
    const [large, other] = [await host.namespace('mallory'), await host.namespace('alice')];
    await host.cluster.create(jobPod(other, 'old'), ...jobObjects(other, 'old'));
    const objects = [jobPod(large, 'big', { lifetime: '1h0m0s' }), ...jobObjects(large, 'big')];
    const like = (objects as { readonly kind: string; readonly metadata: object }[]).find(
      (one) => one.kind === kind,
    );
    const object = { ...like, metadata: { ...like?.metadata, ownerReferences } };
    // `kubectl create -f` would write six bytes itself, of which the API server takes 3 MiB.
    const path = `/api/v1/namespaces/${large}/${kind.toLowerCase()}s`;
    const created = await site.kubectl(['create', '--raw', path, '-f', '-'], {
      input: JSON.stringify(object),
    });
    expect(created.exitCode, created.stderr).toBe(0);
    await sleep(2_100);

    const { exitCode, stdout, stderr } = await host.reap();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toBe(`prod: ended pod ${other}/old, lifetime 1s`);
  },
);
