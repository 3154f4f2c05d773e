import type { ApiClient } from '../../kube/api-client.ts';
import { PodTally } from './rules/reap-pods-plan.ts';
import type { LiveObject } from '../../kube/objects/kube-object.ts';
/** Common input of reaping pods and namespaces. */
export interface ReapContext {
  readonly client: ApiClient;
  readonly dryRun: boolean;
  /** The namespaces of users, without those that are kept. */
  readonly namespaces: readonly LiveObject[];
  /** All pods of the cluster. */
  readonly pods: PodTally;
  /** The pods that match the selector. */
  readonly podsOf: (labelSelector: string) => Promise<PodTally>;
  /** Seconds since the epoch, by the API server. */
  readonly now: () => number;
  readonly ageOf: (object: LiveObject) => number;
  /** Converts an RFC 3339 time to seconds since the epoch. */
  readonly secondsOf: (timestamp: string | undefined) => number;
  /** Call before each deletion: false if another reaper has taken over, or if the time is over. */
  readonly mayGoOn: () => Promise<boolean>;
}
