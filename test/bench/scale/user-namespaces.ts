import { collectionPath, type KubeObject } from '../../../src/kube/objects/kube-object.ts';
import { userObjects, type UserObjects } from '../../../src/kube/objects/user-objects.ts';
import { exampleCluster } from '../../unit/example-cluster.ts';
import type { ApiLoad, NewObject } from './api-load.ts';

/**
 * Creates namespaces of users with all that the hook makes in them: `u-crowd0` and so on.
 *
 * @param from number of the first
 * @param to number after the last
 * @param lastLogin epoch seconds
 */
export async function createUserNamespaces(
  load: ApiLoad,
  { from, to, lastLogin = Date.now() / 1000 }: { from: number; to: number; lastLogin?: number },
): Promise<void> {
  const users = Array.from({ length: to - from }, (_, index) => objectsOf(from + index, lastLogin));
  await load.createAll(
    'namespaces',
    users.map(({ namespace }) => created(namespace)),
  );
  await load.createAll(
    'objects in them',
    users.flatMap(({ members }) => members.map(created)),
  );
}

const crowdNamespace = (index: number): string => `u-crowd${index}`;

function objectsOf(index: number, now: number): UserObjects {
  const gid = 100_000 + index;
  const name = `crowd${index}`;
  return userObjects({
    user: { name, uid: gid, gid, groups: [gid], home: `/home/${name}`, shell: '/bin/bash' },
    cluster: exampleCluster,
    namespace: crowdNamespace(index),
    subject: `oidc:${name}`,
    now,
  });
}

function created(object: KubeObject): NewObject {
  return { collection: collectionPath(object.kind, object.metadata.namespace), body: object };
}
