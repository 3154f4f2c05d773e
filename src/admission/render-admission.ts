import type { AdmissionSettings } from './admission-settings.ts';
import { kubernetesPolicies } from './kubernetes-policies.ts';
import { kyvernoPolicies } from './kyverno-policies.ts';
import type { Manifest } from './manifest.ts';
import { probeManifests } from './probe.ts';
import { stampRights } from './stamp-rights.ts';

export type Engine = 'kubernetes' | 'kyverno';

/** Everything that the enforcement is made of: the rights first, or the hook could not stamp. */
export function admissionManifests(engine: Engine, settings: AdmissionSettings): Manifest[] {
  return [
    // Kyverno has no authorizer to ask: there the accounts stand in the policy.
    ...(engine === 'kubernetes' ? stampRights(settings) : []),
    ...probeManifests(settings),
    ...(engine === 'kubernetes' ? kubernetesPolicies(settings) : kyvernoPolicies(settings)),
  ];
}
