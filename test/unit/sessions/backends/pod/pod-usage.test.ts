import { expect, it } from 'vitest';
import { podUsage } from '../../../../../src/sessions/backends/pod/list-cluster-pods.ts';

const metric = (...usages: readonly object[]): object => ({
  metadata: { name: 'berth-base', namespace: 'u-alice' },
  ...{ timestamp: '2026-11-23T18:40:12Z', window: '15s' },
  containers: usages.map((usage) => ({ name: 'session', usage })),
});

it('adds what the containers use, in the units that metrics-server and others write', () => {
  expect(podUsage(metric({ cpu: '12345678n', memory: '2048Ki' }))).toEqual({
    ...{ cpuCores: 0.012345678, memoryBytes: 2 * 1024 * 1024 },
  });
  expect(podUsage(metric({ cpu: '250m', memory: '1Mi' }, { cpu: '1', memory: '1000' }))).toEqual({
    cpuCores: 1.25,
    memoryBytes: 1024 * 1024 + 1000,
  });
  expect(podUsage(metric({ cpu: '0', memory: '0' }))).toEqual({ cpuCores: 0, memoryBytes: 0 });
});

it.each([
  undefined,
  null,
  {},
  metric(),
  metric({}),
  metric({ cpu: 'much', memory: '1Mi' }),
  metric({ cpu: '1' }),
  { containers: 'none' },
])('does not take %j for a usage', (value) => {
  expect(podUsage(value)).toBeUndefined();
});
