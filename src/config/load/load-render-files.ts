import { BerthError } from '../../system/errors/berth-error.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import {
  type AdmissionParameters,
  parseAdmissionParameters,
} from '../schema/admission-parameters.ts';
import { type BalancerSettings, parseBalancerSettings } from '../schema/balancer-settings.ts';
import { readYaml } from '../schema/yaml-document.ts';

/** Where a site keeps its parameters, if it has any. */
export const admissionFile = '/etc/berth/admission.yml';

/**
 * The parameters of the admission policies.
 *
 * @param options.required false: without the file, the built-in parameters
 * @throws {BerthError} `admission-yml-invalid`, `config-…` of `readConfigFile`, `config-not-utf8`, `config-yaml-invalid`
 */
export function loadAdmissionParameters(
  file: string,
  { required }: { readonly required: boolean },
): AdmissionParameters {
  try {
    const text = readTrusted(file);
    const { value, place } = readYaml(text, file, 'core');
    return parseAdmissionParameters(value, file, place);
  } catch (thrown) {
    if (required || !(thrown instanceof BerthError) || thrown.code !== 'config-missing')
      throw thrown;
    return parseAdmissionParameters({}, file);
  }
}

/**
 * `balancer.yml`, checked and frozen.
 *
 * @throws BerthError `balancer-yml-invalid`, `config-…` of `readConfigFile`, `config-not-utf8`, `config-yaml-invalid`
 */
export function loadBalancerSettings(configFile: string): BalancerSettings {
  const { value, place } = readYaml(readTrusted(configFile), configFile, 'core');
  return parseBalancerSettings(value, configFile, place);
}
