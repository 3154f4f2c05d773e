import type { V1ConfigMap } from '@kubernetes/client-node';
import type { KubeJson } from '../../kube/objects/kube-object.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import { objectIfFound } from '../../kube/read-user-objects.ts';

export interface ConfigMapName {
  readonly namespace: string;
  readonly name: string;
}

export interface LiveConfigMap {
  readonly data: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
}

/** Undefined if it does not exist. @throws the `api-…` errors */
export async function readConfigMap(
  client: ApiClient,
  at: ConfigMapName,
): Promise<LiveConfigMap | undefined> {
  const live = objectIfFound(
    await client.send({ method: 'GET', path: pathOf(at) }),
    attempted('read', at),
  );
  if (live === undefined) return undefined;
  const { data = {} } = live as KubeJson<V1ConfigMap>;
  return { data, resourceVersion: live.metadata.resourceVersion ?? '' };
}

/**
 * Replaces all of its data, if it still has the version of `live`. A new ConfigMap is created by apply, which
 * RBAC can limit to its name; a plain create cannot be limited.
 *
 * @throws the `api-…` errors
 */
export async function writeConfigMap(
  client: ApiClient,
  at: ConfigMapName,
  data: Readonly<Record<string, string>>,
  live: LiveConfigMap | undefined,
): Promise<void> {
  const manager = 'fieldManager=berth-ldap-sync';
  const metadata = { name: at.name, namespace: at.namespace };
  const answer = await client.send(
    live === undefined
      ? {
          method: 'PATCH',
          path: `${pathOf(at)}?${manager}`,
          contentType: 'application/apply-patch+yaml',
          body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }),
        }
      : {
          method: 'PATCH',
          path: `${pathOf(at)}?${manager}`,
          contentType: 'application/json-patch+json',
          body: JSON.stringify([
            { op: 'test', path: '/metadata/resourceVersion', value: live.resourceVersion },
            { op: 'add', path: '/data', value: data },
          ]),
        },
  );
  if (answer.status !== 200 && answer.status !== 201) throw apiError(attempted('writ', at), answer);
}

function pathOf({ namespace, name }: ConfigMapName): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
}

function attempted(stem: string, { namespace, name }: ConfigMapName): string {
  return `${stem}ing ConfigMap ${namespace}/${name}`;
}
