import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { reservedResources } from '../config/reserved-resources.ts';
import type { MatchedRequests, Rule } from './policy-types.ts';

/** All requests that write a reserved resource, but for those that the site leaves to its users. */
export function reservedRequests({ writableResources }: AdmissionParameters): MatchedRequests[] {
  const reserved = reservedResources.filter((one) => !writableResources.includes(one));
  const byGroup = Map.groupBy(reserved, (one) => one.split('.').slice(1).join('.'));
  return [...byGroup].map(([group, names]) => ({
    apiGroups: [group],
    // The Gateway API's routes have no v1 yet.
    apiVersions: ['*'],
    resources: names.map((one) => one.split('.', 1).join('')),
    operations: ['CREATE', 'UPDATE', 'DELETE'],
  }));
}

/** Needs `component`. */
export const reservedRules: readonly Rule[] = [
  {
    holds: 'variables.component',
    message:
      "'only components of the cluster and admins may write ' + request.resource.resource + ' in the namespace of a user'",
  },
];
