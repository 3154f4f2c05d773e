import { expect, it } from 'vitest';
import { listSessionPods } from '../../../../../../src/sessions/backends/pod/presence/expire-pod.ts';
import type { ApiClient, ApiRequest } from '../../../../../../src/kube/api-client.ts';

/** A stand-in for a namespace with ten thousand pods, of which the first are deleted and held by finalizers. */
function crowd(held: number): { readonly client: ApiClient; readonly asked: ApiRequest[] } {
  const asked: ApiRequest[] = [];
  const client: ApiClient = {
    close: () => undefined,
    send: (request) => {
      asked.push(request);
      const query = new URLSearchParams(request.path.split('?')[1]);
      const from = Number(query.get('continue') ?? '0');
      const end = Math.min(10_000, from + Number(query.get('limit')));
      const items = Array.from({ length: end - from }, (_, n) => ({
        metadata: {
          ...{ name: `p-${from + n}`, uid: `u-${from + n}` },
          ...(from + n < held
            ? { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 }
            : {}),
        },
      }));
      const metadata = { continue: end === 10_000 ? '' : String(end) };
      return Promise.resolve({ status: 200, body: { items, metadata } });
    },
  };
  return { client, asked };
}

const access = { namespace: 'u-ada', cluster: 'prod' } as Parameters<typeof listSessionPods>[1];

const names = async (random: () => number): Promise<readonly string[]> =>
  (await listSessionPods(crowd(250).client, access, new Map(), random)).pods.map(
    ({ name }) => name,
  );

it('of ten thousand pods of a user, so many are looked at in one turn; those on their way out are none of them', async () => {
  const { client, asked } = crowd(250);

  const { pods, count } = await listSessionPods(client, access, new Map());

  expect([pods.length, count]).toEqual([200, 9_750]);
  for (const { accept } of asked) expect(accept).toContain('PartialObjectMetadataList');
  expect(pods.map(({ name }) => Number(name.slice(2))).filter((n) => n < 250)).toEqual([]);
});

it('which of them is by chance: the turn of each comes, whichever come first in the list', async () => {
  expect((await names(() => 0.999_999)).at(0)).toBe('p-250');
  expect((await names(() => 0)).at(0)).toBe('p-9999');
});
