import { expect, it } from 'vitest';
import type { ApiRequest, ApiResponse } from '../../../src/kube/api-client.ts';
import { listUserNamespaces } from '../../../src/kube/list-all.ts';

it('keeps of the namespaces their metadata, without managedFields', async () => {
  const asked: ApiRequest[] = [];
  const metadata = { name: 'u-alice', annotations: { 'openondemand.org/owner': 'alice' } };
  const client = {
    send: (request: ApiRequest): Promise<ApiResponse> => {
      asked.push(request);
      const items = [{ metadata: { ...metadata, managedFields: [{ manager: 'berth' }] } }];
      return Promise.resolve({ status: 200, body: { items } });
    },
    close: () => undefined,
  };

  expect(await listUserNamespaces(client, 'a=b')).toEqual([{ metadata }]);

  expect(asked.map(({ accept }) => accept)).toEqual([
    expect.stringContaining('PartialObjectMetadataList'),
  ]);
});
