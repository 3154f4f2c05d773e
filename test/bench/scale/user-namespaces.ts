import { collectionPath, type KubeObject } from '../../../src/kube/objects/kube-object.ts';
import { annotations, namespaceLabel } from '../../../src/kube/objects/well-known-names.ts';
import { userObjects, type UserObjects } from '../../../src/kube/objects/user-objects.ts';
import { exampleCluster } from '../../unit/example-cluster.ts';
import type { ApiLoad, NewObject } from './api-load.ts';

/**
 * Creates namespaces of users with all that the hook makes in them: `u-crowd0` and so on.
 *
 * @param from number of the first
 * @param to number after the last
 */
export async function createUserNamespaces(
  load: ApiLoad,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const users = Array.from({ length: to - from }, (_, index) => objectsOf(from + index));
  await load.createAll(
    'namespaces',
    users.map(({ namespace }) => created(namespace)),
  );
  await load.createAll(
    'objects in them',
    users.flatMap(({ members }) => members.map(created)),
  );
}

export const crowdName = (index: number): string => `crowd${index}`;
export const crowdNamespace = (index: number): string => `u-${crowdName(index)}`;

/** The namespace alone, for programs that read nothing in it. @param lastLogin epoch seconds */
export function namespaceAlone(index: number, lastLogin: number): NewObject {
  const metadata = {
    name: crowdNamespace(index),
    labels: { [namespaceLabel.key]: namespaceLabel.value },
    annotations: {
      [annotations.owner]: crowdName(index),
      [annotations.lastHookExecution]: String(Math.floor(lastLogin)),
    },
  };
  return created({ apiVersion: 'v1', kind: 'Namespace', metadata });
}

function objectsOf(index: number): UserObjects {
  const gid = 100_000 + index;
  const name = crowdName(index);
  return userObjects({
    user: { name, uid: gid, gid, groups: [gid], home: `/home/${name}`, shell: '/bin/bash' },
    cluster: exampleCluster,
    namespace: crowdNamespace(index),
    subject: `oidc:${name}`,
    now: Date.now() / 1000,
  });
}

function created(object: KubeObject): NewObject {
  return { collection: collectionPath(object.kind, object.metadata.namespace), body: object };
}
