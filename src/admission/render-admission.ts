import type { AdmissionSettings } from './admission-settings.ts';
import { kubernetesPolicies } from './kubernetes-policies.ts';
import { kyvernoPolicies } from './kyverno-policies.ts';
import type { Manifest } from './manifest.ts';
import { probeManifests } from './probe-namespace.ts';
import { stampRights } from './identity-stamp-rbac.ts';

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
