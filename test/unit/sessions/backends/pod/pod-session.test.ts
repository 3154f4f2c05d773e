import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../../../src/kube/objects/kube-object.ts';
import { findSessions } from '../../../../../src/login/sessions/find-sessions.ts';
import {
  podSession,
  type PodSession,
} from '../../../../../src/sessions/backends/pod/pod-session.ts';
import { podOwners } from '../../../../../src/sessions/backends/pod/list-cluster-pods.ts';
import { podsTable } from '../../../../../src/cli/sessions/sessions-output.ts';

const now = Date.parse('2026-11-23T19:00:00Z');
const claim = (state: string, minutesAgo: number): string =>
  `${state} ${now / 1000 - minutesAgo * 60} berth-session`;

const owners = podOwners(
  [
    {
      metadata: {
        name: 'u-alice',
        annotations: {
          'openondemand.org/owner': 'alice',
          'login.berth.dev/login1': claim('open', 5),
          'login.berth.dev/login2': claim('closing', 0),
          'login.berth.dev/login3': claim('open', 40),
          'login.berth.dev/login': claim('open', 1),
          'example.org/login4': claim('open', 1),
        },
      },
    },
    { metadata: { name: 'u-old' } },
  ],
  now,
);

function pod(metadata: object, rest: object = {}): LiveObject {
  return {
    metadata: {
      ...{ name: 'berth-base', namespace: 'u-alice', uid: '1' },
      creationTimestamp: '2026-11-23T18:00:00Z',
      ...metadata,
    },
    spec: { nodeName: 'worker1' },
    status: { phase: 'Running', startTime: '2026-11-23T18:00:05Z' },
    ...rest,
  };
}

function read(object: LiveObject): PodSession | undefined {
  const usages = new Map([['u-alice/berth-base', { cpuCores: 0.0201, memoryBytes: 5_242_880 }]]);
  return podSession(object, { cluster: 'prod', owners, usages });
}

describe('a pod of sessions', () => {
  it('belongs to the owner of its namespace, and is used from the nodes that the namespace names', () => {
    expect(read(pod({ labels: { 'berth.dev/profile': 'base' } }))).toEqual({
      ...{ cluster: 'prod', namespace: 'u-alice', name: 'berth-base', uid: '1', user: 'alice' },
      ...{ profileLabel: 'base', status: 'Running', loginNodes: ['login', 'login1'] },
      ...{ opened: Date.parse('2026-11-23T18:00:05Z') / 1000, clusterNode: 'worker1' },
      usage: { cpuCores: 0.0201, memoryBytes: 5_242_880 },
    });
  });

  it('is nobody else’s, whatever its labels and annotations say', () => {
    const forged = read(
      pod({
        name: 'berth-bob',
        labels: { 'berth.dev/profile': 'admin', 'berth.dev/login-host': 'login9', user: 'bob' },
        annotations: {
          'openondemand.org/owner': 'bob',
          'login.berth.dev/login9': claim('open', 0),
        },
      }),
    );
    expect(forged).toMatchObject({ user: 'alice', loginNodes: [] });
  });

  it('has the login node of its label only if the user is connected there', () => {
    const labels = (host: string): object => ({ labels: { 'berth.dev/login-host': host } });
    expect(read(pod(labels('login1')))?.loginNodes).toEqual(['login1']);
    expect(read(pod(labels('login3')))?.loginNodes).toEqual([]);
  });

  it('in a namespace that is no user’s is none, and without an owner has no user', () => {
    expect(read(pod({ namespace: 'kube-system' }))).toBeUndefined();
    expect(read(pod({ namespace: 'u-old' }))?.user).toBeUndefined();
  });

  it('that was only just created, or is being deleted, says so', () => {
    expect(read(pod({}, { spec: {}, status: {} }))).toMatchObject({
      ...{ status: 'Unknown', opened: Date.parse('2026-11-23T18:00:00Z') / 1000 },
      clusterNode: undefined,
    });
    expect(read(pod({ deletionTimestamp: '2026-11-23T18:59:59Z' }))?.status).toBe('Terminating');
  });

  it('cannot control the terminal', () => {
    const text = podsTable(
      [read(pod({}, { status: { phase: '\u001b[2J\nroot' } }))].flatMap((one) => one ?? []),
      { format: 'wide', headings: false, node: '' },
    );
    expect(text.match(/\p{Cc}/gu)).toEqual(['\n']);
    expect(text).toContain('\\u{1b}[2J');
  });
});

describe('words', () => {
  const one = read(pod({}));
  const other = one && { ...one, cluster: 'test', user: 'bob' };
  const pods = [one, other].flatMap((found) => found ?? []);
  const named = (word: string): readonly PodSession[] =>
    findSessions({ sessions: [], pods }, [word]).pods;

  it('name a pod by its namespace and name, also on one cluster, or by its user', () => {
    expect(named('u-alice/berth-base')).toEqual([one, other]);
    expect(named('test/u-alice/berth-base')).toEqual([other]);
    expect(named('alice')).toEqual([one]);
  });

  it('that name nothing are an error', () => {
    expect(() => named('u-alice/other')).toThrow('there is no pod u-alice/other of an SSH session');
    expect(() => named('carol')).toThrow('no session on this node has the ID or the user carol');
  });
});
