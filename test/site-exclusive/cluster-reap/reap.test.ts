import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Lease, acquireLease } from '../../../src/clusters/reap/lease.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { testUser, siteParameters } from '../../rig/admission/test-user.ts';
import { hasMutatingPolicies } from '../../rig/site/kubernetes/versions.ts';
import { openSite } from '../../rig/site/site.ts';
import { jobObjects, jobPod, ReapSite } from './reap-site.ts';

let host: ReapSite;

beforeAll(async () => {
  host = await ReapSite.make(await openSite());
});
afterEach(() => host.clear());
afterAll(() => host.remove());

const lease = { namespace: 'ondemand', name: 'berth-reaper' };
const now = (): number => Date.now() / 1000;

/** Everybody's age is counted from creation, in whole seconds: a lifetime of 1s is over after two. */
const aWhile = (): Promise<void> => sleep(2_100);

describe('pods past their lifetime', () => {
  it('are deleted with the Service, ConfigMap and Secret of their job, and nothing else is', async () => {
    const at = await host.namespace('alice');
    await host.cluster.create(
      jobPod(at, 'old'),
      ...jobObjects(at, 'old'),
      jobPod(at, 'young', { lifetime: '1h0m0s' }),
      ...jobObjects(at, 'young'),
    );
    await aWhile();

    const { exitCode, stdout, stderr } = await host.reap();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toBe(`prod: ended pod ${at}/old, lifetime 1s`);
    expect(await host.names('pods', at)).toEqual(['young']);
    expect(await host.names('services', at)).toEqual(['young-service']);
    expect(await host.names('configmaps', at)).toEqual(['young-configmap']);
    expect(await host.names('secrets', at)).toEqual(['young-secret']);
    const events = await host.cluster.kubectl(['get', 'events', '-n', at, '-o', 'json']);
    expect(events).toContain('LifetimeExceeded');
  });

  it('are listed with --dry-run, and stay', async () => {
    const at = await host.namespace('alice');
    await host.cluster.create(jobPod(at, 'old'), ...jobObjects(at, 'old'));
    await aWhile();

    const { stdout } = await host.reap('--dry-run');

    expect(stdout).toBe(`prod: would end pod ${at}/old, lifetime 1s`);
    expect(await host.names('pods,services,configmaps,secrets', at)).toHaveLength(4);
  });

  it('are deleted whoever made them: with admission every pod has a lifetime', async ({ skip }) => {
    const { kubernetesMinor: minor } = (await openSite()).record;
    skip(
      !hasMutatingPolicies(minor),
      `Kubernetes ${minor} fills in no lifetime: such a pod is refused`,
    );
    const parameters = { ...siteParameters, defaultLifetime: '1s' };
    const admission = await AdmissionSite.install(await openSite(), parameters);
    try {
      const { key, value } = admission.settings.label;
      const { annotations, image } = testUser;
      const at = await host.namespace('ada', { labels: { [key]: value }, annotations });
      const run = (name: string, ...more: string[]): Promise<string> =>
        host.cluster.kubectl(['run', name, `--image=${image}`, '-n', at, ...more]);
      const ofOwn = { apiVersion: 'v1', kind: 'ConfigMap' };
      const labels = { job: 'training' };
      await run('plain');
      await run('labelled', '--labels=job=training');
      await run(
        'deadline',
        `--overrides=${JSON.stringify({ spec: { activeDeadlineSeconds: 1 } })}`,
      );
      await host.cluster.create({ ...ofOwn, metadata: { name: 'own', namespace: at, labels } });
      await aWhile();

      const { exitCode, stdout } = await host.reap();

      expect([exitCode, stdout.split('\n').sort()]).toEqual([
        0,
        ['deadline', 'labelled', 'plain'].map(
          (name) => `prod: ended pod ${at}/${name}, lifetime 1s`,
        ),
      ]);
      expect(await host.names('pods', at)).toEqual([]);
      expect(await host.names('configmaps', at)).toEqual(['own']);
    } finally {
      await admission.remove();
    }
  });

  it('stay if the namespace is kept, the selector does not match, or the lifetime is not a duration', async () => {
    const kept = await host.namespace('kept', { labels: { 'berth.dev/keep': 'true' } });
    const at = await host.namespace('alice');
    await host.cluster.create(
      jobPod(kept, 'old'),
      jobPod(at, 'odd', { lifetime: 'a while' }),
      withLabel(jobPod(at, 'foreign'), { 'app.kubernetes.io/managed-by': 'somebody' }),
    );
    await aWhile();

    const selector = 'app.kubernetes.io/managed-by=open-ondemand';
    const { exitCode, stdout } = await host.reap('--pod-selector', selector);

    expect(exitCode).toBe(0);
    expect(stdout).toBe(`prod: pod ${at}/odd has an invalid lifetime (not a duration)`);
    expect(await host.names('pods', kept)).toEqual(['old']);
    expect(await host.names('pods', at)).toEqual(['foreign', 'odd']);
  });

  it('are deleted up to the limit of a run, the oldest first', async () => {
    const at = await host.namespace('alice');
    await host.cluster.create(jobPod(at, 'first'));
    await aWhile();
    await host.cluster.create(jobPod(at, 'second'));
    await aWhile();

    const { stdout } = await host.reap('--max-pods', '1');

    expect(stdout).toContain('left for the next run: 1 pod (jobs included) and 0 namespaces');
    expect(await host.names('pods', at)).toEqual(['second']);
  });

  it('are deleted by one of two reapers', async () => {
    const at = await host.namespace('alice');
    await host.cluster.create(...Array.from({ length: 8 }, (_, n) => jobPod(at, `job-${n}`)));
    await aWhile();

    const runs = await Promise.all([host.reap(), host.reap()]);

    const ended = runs.flatMap(({ stdout }) => [...stdout.matchAll(/ended pod \S+/g)]);
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(ended.map(([line]) => line).sort()).toEqual(
      Array.from({ length: 8 }, (_, n) => `ended pod ${at}/job-${n},`),
    );
    expect(await host.names('pods', at)).toEqual([]);
  });

  it.each([
    ['never reaped before', false],
    ['reaped before', true],
  ])('are one of twenty reapers’ alone, on a cluster that was %s', async (_, before) => {
    const take = (holder: string): Promise<Lease | undefined> =>
      host.withClient((client) => acquireLease(client, lease, { holder, now }));
    if (before)
      await host.withClient(async (client) => {
        const first = await acquireLease(client, lease, { holder: 'the-first', now });
        await first?.release();
      });
    const taken = await Promise.all(Array.from({ length: 20 }, (_, n) => take(`host-${n}`)));

    expect(taken.filter((held) => held !== undefined)).toHaveLength(1);
  });

  it('wait while another host reaps, and until its lease expires if that host died', async () => {
    const at = await host.namespace('alice');
    await host.cluster.create(jobPod(at, 'old'));
    await aWhile();
    const leased = (renewTime: string): Promise<void> =>
      host.cluster.patch('lease', 'berth-reaper', 'ondemand', {
        spec: { holderIdentity: 'elsewhere-1', leaseDurationSeconds: 60, renewTime },
      });
    await host.reap('--dry-run');
    await host.reap('--max-pods', '1', '--pod-selector', 'no=pod');

    await leased(new Date().toISOString().replace('Z', '000Z'));
    expect((await host.reap()).stdout).toBe('prod: another reaper is running; nothing was done');
    expect(await host.names('pods', at)).toEqual(['old']);

    await leased(new Date(Date.now() - 61_000).toISOString().replace('Z', '000Z'));
    expect((await host.reap()).stdout).toContain('ended pod');
  });
});

describe('namespaces', () => {
  const longAgo = { 'openondemand.org/last-hook-execution': '1700000000' };

  it('are reaped only with the option, of at least an hour', async () => {
    const at = await host.namespace('alice', { annotations: longAgo });

    expect((await host.reap()).stdout).toBe('');
    // It is older by its stamp, and not by its creation.
    expect((await host.reap('--unused-after', '1h')).stdout).toBe('');
    expect((await host.reap('--unused-after', '59m')).exitCode).toBe(64);
    const oneHour = ['--unused-after', '1h'];
    expect((await host.reap(...oneHour, '--last-used-threshold', '59m')).exitCode).toBe(64);
    expect((await host.reap(...oneHour, '--namespace-regexp', '(')).exitCode).toBe(64);
    expect((await host.reap(...oneHour, '--namespace-regexp', 'user-.+')).stdout).toBe('');
    expect(await host.cluster.get('namespace', at)).toBeDefined();
  });

  it('are deleted if unused and without a running pod, and kept if in doubt', async () => {
    const old = { annotations: longAgo };
    const unused = await host.namespace('unused', old);
    const busy = await host.namespace('busy', old);
    const claims = await host.namespace('claims', old);
    const kept = await host.namespace('kept', { ...old, labels: { 'berth.dev/keep': 'yes' } });
    const odd = await host.namespace('odd', {
      annotations: { 'openondemand.org/last-hook-execution': 'yesterday' },
    });
    // Two seconds without use are long here: this one was used in an hour, by its stamp.
    const soon = String(Math.floor(Date.now() / 1000) + 3600);
    const used = await host.namespace('used', {
      annotations: { 'openondemand.org/last-hook-execution': soon },
    });
    await host.cluster.create(jobPod(busy, 'waits', { lifetime: '1h' }), claimIn(claims));
    await aWhile();

    const plan = await host.reapUnused({ after: 2, dryRun: true });
    expect(plan.namespaces.deleted.map(({ name }) => name)).toEqual([unused]);

    const { namespaces, failed } = await host.reapUnused({ after: 2 });

    expect(failed).toEqual([]);
    expect(namespaces.deleted.map(({ name }) => name)).toEqual([unused]);
    expect(new Map(namespaces.left.map(({ name, reason }) => [name, reason]))).toEqual(
      new Map([
        [busy, 'a pod runs in it'],
        [claims, 'it contains PersistentVolumeClaims (allow with --delete-claims)'],
        [odd, 'its annotation openondemand.org/last-hook-execution is missing or invalid'],
      ]),
    );
    const gone = await host.cluster.get('namespace', unused);
    expect(gone?.metadata.deletionTimestamp ?? 'gone').toBeDefined();
    for (const name of [busy, claims, kept, odd, used])
      expect((await host.cluster.get('namespace', name))?.metadata.deletionTimestamp).toBe(
        undefined,
      );
    const events = await host.cluster.kubectl(['get', 'events', '-n', 'default', '-o', 'json']);
    expect(events).toContain(unused);
  });

  it('with claims are deleted with --delete-claims, but for those with a volume of volume_claims', async () => {
    const claims = await host.namespace('data', { annotations: longAgo });
    const volumes = await host.namespace('volumes', { annotations: longAgo });
    await host.cluster.create(
      claimIn(claims),
      claimIn(volumes),
      claimIn(volumes, { name: 'home', labels: { 'berth.dev/user-volume': 'true' } }),
    );
    await aWhile();

    const { namespaces, failed } = await host.reapUnused({ after: 2, deleteClaims: true });

    expect(failed).toEqual([]);
    expect(namespaces.deleted.map(({ name }) => name)).toContain(claims);
    expect(namespaces.left).toContainEqual({
      name: volumes,
      reason:
        'it contains a PersistentVolumeClaim made from volume_claims, which Berth never deletes',
    });
    const left = await host.cluster.get('namespace', volumes);
    expect(left?.metadata.deletionTimestamp).toBe(undefined);
  });

  it('stay if a login came between the check and the deletion', async () => {
    const at = await host.namespace('alice', { annotations: longAgo });
    const seen = await host.cluster.get('namespace', at);
    await host.cluster.kubectl([
      ...['annotate', 'ns', at, '--overwrite', 'openondemand.org/last-hook-execution=1700000001'],
    ]);

    expect(await host.deleteAsSeen(at, seen?.metadata ?? { uid: '', resourceVersion: '' })).toBe(
      false,
    );

    expect((await host.cluster.get('namespace', at))?.metadata.deletionTimestamp).toBe(undefined);
  });
});

function claimIn(namespace: string, metadata: object = { name: 'data' }): object {
  return {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace, ...metadata } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
}

function withLabel(pod: object, labels: object): object {
  const { metadata, ...rest } = pod as { metadata: { labels: object } };
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
}
