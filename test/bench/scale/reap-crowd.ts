import { lifetimeAnnotation } from '../../../src/kube/objects/well-known-names.ts';
import type { NewObject } from './api-load.ts';
import { crowdNamespace, namespaceAlone } from './user-namespaces.ts';

/** Namespaces of users, without what the hook makes in them: the reaper does not read it. */
export function* namespacesFrom(from: number, to: number, lastLogin: number): Generator<NewObject> {
  for (let index = from; index < to; index += 1) yield namespaceAlone(index, lastLogin);
}

/**
 * Pods of OnDemand's jobs, a third of the namespaces having two. They wait for a scheduler that does not exist, so that they
 * need no node.
 */
export function* podsFrom(from: number, to: number, crowd: JobCrowd): Generator<NewObject> {
  for (let index = from; index < to; index += 1) yield podOf(index, crowd);
}

/** The same with the Service, ConfigMap and Secret of each job, which end with it. */
export function* jobsFrom(from: number, to: number, crowd: JobCrowd): Generator<NewObject> {
  for (let index = from; index < to; index += 1) {
    const { namespace, job } = jobOf(index, crowd);
    const of = (kind: string, plural: string, more: object): NewObject => ({
      collection: `/api/v1/namespaces/${namespace}/${plural}`,
      body: {
        ...{ apiVersion: 'v1', kind },
        metadata: { name: `${job}-${kind.toLowerCase()}`, labels: { job } },
        ...more,
      },
    });
    yield of('Service', 'services', { spec: { clusterIP: 'None', selector: { job } } });
    yield of('ConfigMap', 'configmaps', { data: { script: 'x' } });
    yield of('Secret', 'secrets', { stringData: { password: 'x' } });
    yield podOf(index, crowd);
  }
}

interface JobCrowd {
  /** Number of the namespaces that the jobs are in. */
  readonly namespaces: number;
  readonly lifetime: string;
}

function jobOf(
  index: number,
  { namespaces, lifetime }: JobCrowd,
): { namespace: string; job: string } {
  return { namespace: crowdNamespace(index % namespaces), job: `job-${lifetime}-${index}` };
}

function podOf(index: number, crowd: JobCrowd): NewObject {
  const { namespace, job } = jobOf(index, crowd);
  const body = jobPod(namespace, job, crowd.lifetime);
  return { collection: `/api/v1/namespaces/${namespace}/pods`, body };
}

function jobPod(namespace: string, job: string, lifetime: string): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ namespace, name: job },
      labels: { job, 'app.kubernetes.io/managed-by': 'open-ondemand' },
      annotations: { [lifetimeAnnotation]: lifetime },
    },
    spec: {
      schedulerName: 'nobody',
      containers: [{ name: 'job', image: 'registry.example.org/job' }],
    },
  };
}
