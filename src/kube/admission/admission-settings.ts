import {
  type AdmissionParameters,
  parseAdmissionParameters,
} from '../../config/schema/admission-parameters.ts';
import { namespaceLabel } from '../objects/well-known-names.ts';

/** Names and scope of the policies, and what the site allows. */
export interface AdmissionSettings {
  /** Prefix of the name of every policy. */
  readonly prefix: string;
  /** The label of the namespaces that the policies cover: the hook's. */
  readonly label: { readonly key: string; readonly value: string };
  /** Covers only namespaces with this name prefix, for a trial; all if absent. */
  readonly within?: string;
  /**
   * Written into the policies as CEL literals, not read from a ConfigMap by `paramKind`: after the
   * last such policy was deleted, an API server reads no ConfigMap again until it is restarted, and uses
   * the old values (kubernetes/kubernetes#130887).
   */
  readonly parameters: AdmissionParameters;
  /** The cluster has no MutatingAdmissionPolicy: a pod must set every field, and messages list them. */
  readonly nothingFilledIn?: boolean;
}

/** The policies of a site. */
export function siteAdmission(
  parameters: AdmissionParameters = parseAdmissionParameters({}, 'built in'),
  { nothingFilledIn = false }: Pick<AdmissionSettings, 'nothingFilledIn'> = {},
): AdmissionSettings {
  return { prefix: 'berth-', label: namespaceLabel, parameters, nothingFilledIn };
}
