import type { V1ResourceQuota } from '@kubernetes/client-node';
import { BerthError, withHint } from '../../../system/errors/berth-error.ts';
import type { User } from '../../../system/identity/nss.ts';
import { installedPath } from '../../../system/program/installed-path.ts';
import { listAll } from '../../../kube/list-all.ts';
import { collectionPath, type KubeJson } from '../../../kube/objects/kube-object.ts';
import { onEachCluster } from './own-pods.ts';

/** A limit on all objects of a user's namespace together, as quantities of Kubernetes. */
export interface OwnQuota {
  readonly cluster: string;
  readonly namespace: string;
  /** Such as `limits.memory` or `pods`. */
  readonly resource: string;
  readonly used: string;
  readonly limit: string;
}

export interface OwnQuotas {
  readonly quotas: readonly OwnQuota[];
  readonly failed: readonly BerthError[];
}

/** Asks each cluster for the quotas of the user who runs this process, with the grants of this connection. */
export async function ownQuotas(user: User): Promise<OwnQuotas> {
  const { found, failed } = await onEachCluster(user, async (client, { cluster, namespace }) => {
    const attempted = 'reading your quota';
    const all = await listAll(client, collectionPath('ResourceQuota', namespace), { attempted });
    return all.flatMap((one) => {
      const { status } = one as Pick<KubeJson<V1ResourceQuota>, 'status'>;
      return Object.entries(status?.hard ?? {}).map(([resource, limit]): OwnQuota => ({
        cluster,
        namespace,
        resource,
        limit,
        used: status?.used?.[resource] ?? '0',
      }));
    });
  });
  return { quotas: found.flat(), failed: failed.map(explained) };
}

function explained(error: BerthError): BerthError {
  return error.code === 'api-forbidden'
    ? withHint(
        error,
        `Run \`kubectl apply -k ${installedPath('share/etc/kubernetes/ssh-sessions')}\` as an admin of the cluster.`,
      )
    : error;
}
