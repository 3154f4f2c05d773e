import { expect, it } from 'vitest';
import type { ReapContext } from '../../../../src/clusters/reap/reap-context.ts';
import { reapPods } from '../../../../src/clusters/reap/reap-pods.ts';
import { PodTally } from '../../../../src/clusters/reap/rules/reap-pods-plan.ts';
import type { ApiResponse } from '../../../../src/kube/api-client.ts';

const now = 1_800_000_000;
const secondsOf = (text = ''): number => Date.parse(text) / 1000;
const statuses: Readonly<Record<string, number>> = { GET: 200, DELETE: 200, POST: 201 };

it('what is not reached in time is left for the next run, without an error for each', async () => {
  const pods = new PodTally(new Set(['u-alice']), { now, secondsOf });
  for (const name of ['one', 'two', 'three'])
    pods.add({
      metadata: {
        ...{ name, namespace: 'u-alice', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
        annotations: { 'pod.kubernetes.io/lifetime': '1s' },
      },
    });
  let asked = 0;
  const round: ReapContext = {
    // A stand-in: the end of the time between two deletions cannot be provoked on an API server.
    client: {
      send: ({ method }): Promise<ApiResponse> =>
        Promise.resolve({ status: statuses[method] ?? 500, body: { items: [] } }),
      close: () => undefined,
    },
    ...{ dryRun: false, namespaces: [], pods, podsOf: () => Promise.resolve(pods) },
    ...{ now: () => now, ageOf: () => 0, secondsOf },
    mayGoOn: () => Promise.resolve((asked += 1) <= 1),
  };

  const { expired, later, failed } = await reapPods(round, { maxPods: 0 });

  expect({ ended: expired.length, later, failed }).toEqual({ ended: 1, later: 2, failed: [] });
});
