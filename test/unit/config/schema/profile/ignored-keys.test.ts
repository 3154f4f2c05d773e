import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import type { ProfileRule } from '../../../../../src/config/schema/profile/profile.ts';
import {
  ignoredKeys,
  ignoredKeysText,
} from '../../../../../src/config/schema/profile/ignored-keys.ts';

const image = 'registry.example.org/login:1';
const ofPodman = {
  network: 'none',
  limits: { cpus: 1, pids: 100 },
  on_failure: { action: 'fallback', image: 'registry.example.org/login:0' },
  podman: { devices: ['/dev/fuse'], capabilities: { add: ['SYS_PTRACE'] }, selinux: 'disable' },
};
const ofPods = {
  pod: { cluster: 'prod', node_selector: { pool: 'x' }, extended: { 'nvidia.com/gpu': 1 } },
};
const of = (document: object, rules: readonly ProfileRule[] = []) =>
  ignoredKeys(parseProfile({ image, ...document }, 'gpu', 'gpu.yml'), rules);

describe('keys of a profile without effect', () => {
  it('are those for Podman where its sessions are pods', () => {
    expect(of({ backend: 'pod', ...ofPodman })?.keys).toEqual([
      ...['network', 'limits.pids', 'on_failure', 'podman.devices', 'podman.capabilities.add'],
      'podman.selinux',
    ]);
    expect(of({ backend: 'pod', ...ofPodman, batch: { qos: 'low' } })?.keys).toEqual([
      ...['limits.pids', 'on_failure'],
    ]);
    expect(of({ backend: 'pod', slurm: {} })?.keys).toEqual(['slurm']);
    expect(of({ backend: 'pod', ...ofPods, limits: { memory: '1G' } })).toBeUndefined();
    expect(of({ backend: 'pod' })).toBeUndefined();
  });

  it('are those for pods, if no session is a pod', () => {
    const found = of(ofPods);

    expect(found && ignoredKeysText(found)).toBe(
      "profile gpu: its sessions are Podman's containers, and pod.cluster, pod.node_selector, pod.extended apply to pods only",
    );
    expect(of(ofPodman)).toBeUndefined();
  });

  it('are those for other sessions, if all sessions are in jobs', () => {
    const found = of({ backend: 'slurm', lifetime: 'user', linger: true, limits: { pids: 100 } });
    expect(found && ignoredKeysText(found)).toBe(
      'profile gpu: its sessions are jobs of Slurm, and limits.pids, linger apply to other sessions only',
    );
    expect(of({ lifetime: 'user', linger: true })).toBeUndefined();
  });

  it('are what the rules make of them: a profile for both has none', () => {
    const rule = (backend?: 'pod' | 'podman', profile = 'gpu'): ProfileRule => ({
      ...(backend === undefined ? {} : { backend }),
      profile,
    });

    expect(of({ ...ofPodman, ...ofPods }, [rule('pod'), rule()])).toBeUndefined();
    expect(of(ofPods, [rule('pod')])).toBeUndefined();
    expect(of({ podman: ofPodman.podman }, [rule('pod')])?.backend).toBe('pod');
    expect(of(ofPods, [rule('pod', 'other')])?.keys).toContain('pod.cluster');
  });
});
