import {
  type AdmissionParameters,
  parseAdmissionParameters,
} from '../config/admission-parameters.ts';
import { namespaceLabel } from '../desired/names.ts';

/** What the policies are named, whom they hold, and what the site lets them have. */
export interface AdmissionSettings {
  /** Before the name of every policy. */
  readonly prefix: string;
  /** The namespaces whose pods are held: those of users, by the hook's label. */
  readonly label: { readonly key: string; readonly value: string };
  /** Only namespaces whose names begin so; all where absent. To try the policies on some. */
  readonly within?: string;
  /**
   * Written into the policies as CEL literals, not read from a ConfigMap by `paramKind`: an API server
   * that once saw the last such policy go never reads a ConfigMap again until it is restarted, and goes
   * on with what it last saw (kubernetes/kubernetes#130887).
   */
  readonly parameters: AdmissionParameters;
  /** The cluster serves no MutatingAdmissionPolicy: a pod says all of it itself, and messages say what. */
  readonly nothingFilledIn?: boolean;
}

/** The policies of a site. */
export function siteAdmission(
  parameters: AdmissionParameters = parseAdmissionParameters({}, 'built in'),
  { nothingFilledIn = false }: Pick<AdmissionSettings, 'nothingFilledIn'> = {},
): AdmissionSettings {
  return { prefix: 'berth-', label: namespaceLabel, parameters, nothingFilledIn };
}
