import type { AdmissionSettings } from './admission-settings.ts';
import { kubernetesPolicies } from './kubernetes-policies.ts';
import { kyvernoPolicies } from './kyverno-policies.ts';
import type { Manifest } from '../objects/kube-object.ts';
import { stampRight } from './namespace-rules.ts';
import { probeManifests } from './probe-namespace.ts';

export type Engine = 'kubernetes' | 'kyverno';

/** All manifests of the policies. The RBAC objects come first, because the hook needs them to write identities. */
export function admissionManifests(engine: Engine, settings: AdmissionSettings): Manifest[] {
  return [
    // Kyverno has no authorizer: its policy names the accounts.
    ...(engine === 'kubernetes' ? stampRights(settings) : []),
    ...probeManifests(settings),
    ...(engine === 'kubernetes' ? kubernetesPolicies(settings) : kyvernoPolicies(settings)),
  ];
}

const rbac = 'rbac.authorization.k8s.io';

/** Gives the hook the right to stamp identities, which `namespace-identity` denies to others. */
export function stampRights({ prefix, parameters }: AdmissionSettings): Manifest[] {
  const name = `${prefix}identity-stamper`;
  const { group, resource, verb } = stampRight;
  return [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ apiGroups: [group], resources: [resource], verbs: [verb] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: parameters.stampers.map((account) => {
        const [namespace, accountName] = account.split(':');
        return { kind: 'ServiceAccount', name: accountName, namespace };
      }),
    },
  ];
}
