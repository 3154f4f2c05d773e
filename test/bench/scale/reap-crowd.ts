import { collectionPath } from '../../../src/kube/objects/kube-object.ts';
import { annotations, lifetimeAnnotation } from '../../../src/kube/objects/well-known-names.ts';
import type { NewObject } from './api-load.ts';

const namespaceName = (index: number): string => `u-crowd${index}`;

/** Namespaces of users, without what the hook makes in them: the reaper does not read it. */
export function* namespacesFrom(from: number, to: number, lastLogin: number): Generator<NewObject> {
  for (let index = from; index < to; index += 1) {
    const metadata = {
      name: namespaceName(index),
      labels: { 'app.kubernetes.io/name': 'open-ondemand' },
      annotations: {
        [annotations.owner]: `crowd${index}`,
        [annotations.lastHookExecution]: String(Math.floor(lastLogin)),
      },
    };
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata };
    yield { collection: collectionPath('Namespace'), body };
  }
}

/**
 * Pods of OnDemand's jobs, a third of the namespaces having two. They wait for a scheduler that does not exist, so that they
 * need no node.
 */
export function* podsFrom(
  from: number,
  to: number,
  { namespaces, lifetime }: { readonly namespaces: number; readonly lifetime: string },
): Generator<NewObject> {
  for (let index = from; index < to; index += 1) {
    const namespace = namespaceName(index % namespaces);
    const body = jobPod(namespace, `job-${lifetime}-${index}`, lifetime);
    yield { collection: `/api/v1/namespaces/${namespace}/pods`, body };
  }
}

/** The same with the Service, ConfigMap and Secret of each job, which end with it. */
export function* jobsFrom(
  from: number,
  to: number,
  { namespaces, lifetime }: { readonly namespaces: number; readonly lifetime: string },
): Generator<NewObject> {
  for (let index = from; index < to; index += 1) {
    const namespace = namespaceName(index % namespaces);
    const job = `job-${lifetime}-${index}`;
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
    yield {
      collection: `/api/v1/namespaces/${namespace}/pods`,
      body: jobPod(namespace, job, lifetime),
    };
  }
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
