import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../../src/config/schema/profile/profile-parse.ts';
import {
  podName,
  podObject,
} from '../../../../../../src/sessions/backends/pod/objects/pod-object.ts';
import { host } from '../../../request/host.ts';
import { hostLabel } from '../../../../../../src/system/program/session-id.ts';

const profile = (fields: object = {}) => parseProfile({ image: 'a', ...fields }, 'p', 'p.yml');
const pod = (fields: object = {}, more: object = {}) =>
  podObject({
    ...{ user: host.user, profile: profile(fields), namespace: 'u-ada', loginHost: 'Login1.site' },
    ...{ connection: '12.34', groupNames: new Map([[7001, 'project']]) },
    ...more,
  });
interface Spec {
  readonly securityContext: object;
  readonly containers: readonly [Record<string, unknown>];
  readonly volumes: readonly object[];
  readonly activeDeadlineSeconds: number;
}
const spec = (fields: object = {}): Spec => pod(fields).spec as unknown as Spec;

describe('the name of a pod', () => {
  it('says to those who come later with which groups it was made', () => {
    const { gid, groups } = host.user;
    const others = groups.filter((group) => group !== gid);
    const value = [gid, ...others].join(' ');
    expect(spec().containers[0].env).toContainEqual({ name: 'BERTH_GROUPS', value });
    expect(spec().securityContext).toMatchObject({ supplementalGroups: others });
  });

  it("is the profile's and this login node's, and the connection's where it ends with that", () => {
    const name = (lifetime: string) =>
      podName({ profile: profile({ lifetime }), loginHost: 'login1', connection: '12.34' });
    expect(name('user')).toBe('berth-p');
    expect(name('connection')).toBe('berth-p-login1-12-34');
  });

  it.each([
    ['Login-1.hpc.example.org', 'login-1'],
    ['_x_', 'x'],
    ['...', 'login'],
    [`${'h'.repeat(39)}-1`, 'h'.repeat(39)],
  ])('takes %s as %s', (name, label) => {
    expect(hostLabel(name)).toBe(label);
  });
});

describe('a pod', () => {
  it("stays on a node that is lost for as long as its profile says, in Kubernetes' words", () => {
    const lost = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
    const tolerations = [{ key: 'gpu' }, { ...lost, seconds: 30 }];
    expect(spec({ pod: { tolerations } })).toMatchObject({
      tolerations: [{ key: 'gpu' }, { ...lost, tolerationSeconds: 30 }],
    });
  });

  it("runs as the user, with the user's groups and no others", () => {
    expect(spec().securityContext).toEqual({
      ...{ runAsUser: 5501, runAsGroup: 5502, fsGroup: 5502, supplementalGroups: [7001] },
      ...{ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      // What the image's /etc/group says is nothing to it.
      supplementalGroupsPolicy: 'Strict',
    });
    const merged = spec({ pod: { supplemental_groups_policy: 'Merge' } }).securityContext;
    expect(merged).not.toHaveProperty('supplementalGroupsPolicy');
    expect(spec().containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('knows the user and the groups by name, whatever the image has', () => {
    const { annotations } = pod().metadata;
    expect(annotations['berth.dev/passwd']).toMatch(/^ada:\*:5501:5502::\/home\/ada:\/bin\/bash\n/);
    expect(annotations['berth.dev/group']).toMatch(/^ada:x:5502:\nproject:x:7001:\n/);
  });

  it('has its connection as a label only with lifetime: connection', () => {
    expect(pod().metadata.labels).toMatchObject({
      'berth.dev/connection': '12.34',
    });
    expect(pod({ lifetime: 'user' }).metadata.labels).not.toHaveProperty('berth.dev/connection');
  });

  it('has its lifetime limited by the profile, in the forms that the cluster and its reapers read', () => {
    const { metadata } = pod({ lifetime: '90m' });
    expect(metadata.annotations['pod.kubernetes.io/lifetime']).toBe('1h30m0s');
    expect(spec({ lifetime: '90m' }).activeDeadlineSeconds).toBe(5400);
    expect(spec().activeDeadlineSeconds).toBe(7 * 24 * 3600);
  });

  it('mounts directories of the node, claims and file servers', () => {
    const fields = {
      mounts: [{ source: '$HOME' }, { source: '/sw', read_only: true, missing: 'skip' }],
      pod: {
        volumes: {
          '/scratch': { claim: 'scratch' },
          '/data': { nfs: { server: 'nfs', path: '/d' }, read_only: true },
        },
      },
    };
    expect(spec(fields).volumes.slice(0, 4)).toEqual([
      { name: 'mount-0', hostPath: { path: '/home/ada', type: 'Directory' } },
      { name: 'mount-1', hostPath: { path: '/sw', type: '' } },
      { name: 'volume-0', persistentVolumeClaim: { claimName: 'scratch' } },
      { name: 'volume-1', nfs: { server: 'nfs', path: '/d' } },
    ]);
    expect(spec(fields).containers[0].volumeMounts).toMatchObject([
      { mountPath: '/home/ada' },
      { mountPath: '/sw', readOnly: true },
      { mountPath: '/scratch' },
      { mountPath: '/data', readOnly: true },
      { mountPath: '/etc/passwd', readOnly: true },
      { mountPath: '/etc/group', readOnly: true },
      { mountPath: '/run/berth/files' },
    ]);
    expect(spec(fields).containers[0].workingDir).toBe('/home/ada');
    expect(spec({ mounts: [] }).containers[0].workingDir).toBe('/');
  });

  it('requests the limits of the profile, including GPUs, and defaults otherwise', () => {
    const fields = {
      limits: { cpus: 2, memory: '4G' },
      pod: { extended: { 'nvidia.com/gpu': 1 } },
    };
    const limited = { cpu: '2', memory: String(4 * 1024 ** 3), 'nvidia.com/gpu': '1' };
    expect(spec(fields).containers[0].resources).toEqual({ requests: limited, limits: limited });
    expect(spec().containers[0].resources).toEqual({
      requests: { cpu: '100m', memory: '128Mi' },
      limits: { cpu: '1', memory: '1Gi' },
    });
  });
});
