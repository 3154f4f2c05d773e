import { readFileSync } from 'node:fs';
import type { ClusterSettings, SiteSettings } from '../../config/schema/settings.ts';
import { BerthError, messageOf } from '../../system/errors/berth-error.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { adminCommandAccess } from './admin-command-access.ts';

/** A cluster that a timer or a CronJob works on, and how to reach it. */
export interface ClusterTarget {
  readonly name: string;
  /** @throws what `adminCommandAccess` throws, `not-in-cluster` */
  readonly reach: (deadline: AbortSignal) => Promise<ApiServer>;
}

/** A cluster reached as configured: `admin` in berth.yml. */
export function configuredTarget(
  cluster: ClusterSettings,
  { stateDir, clusters }: SiteSettings,
): ClusterTarget {
  const clusterCount = clusters.length;
  return {
    name: cluster.name,
    reach: (deadline) =>
      adminCommandAccess(cluster, { stateDir, clusterCount, remember: false, deadline }),
  };
}

/** Where the kubelet mounts a pod's token: k8s.io/client-go, rest.InClusterConfig. */
const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The cluster in which this process runs as a pod, with the pod's ServiceAccount.
 *
 * @param env The environment of the process, with the API server's address.
 */
export function inClusterTarget(env: Readonly<NodeJS.ProcessEnv>): ClusterTarget {
  return {
    name: 'in-cluster',
    reach: () => {
      const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
      if (host === undefined || port === undefined)
        return Promise.reject(notInCluster('KUBERNETES_SERVICE_HOST and _PORT are not set'));
      try {
        const token = readFileSync(`${serviceAccountDirectory}/token`, 'utf8').trim();
        const ca = readFileSync(`${serviceAccountDirectory}/ca.crt`, 'utf8');
        const address = host.includes(':') ? `[${host}]` : host;
        return Promise.resolve({ url: `https://${address}:${port}`, token, ca });
      } catch (cause) {
        return Promise.reject(notInCluster(messageOf(cause), cause));
      }
    },
  };
}

function notInCluster(reason: string, cause?: unknown): BerthError {
  return new BerthError('not-in-cluster', `--in-cluster: ${reason}`, { cause });
}
