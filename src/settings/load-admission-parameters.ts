import { readFileSync } from 'node:fs';
import {
  type AdmissionParameters,
  parseAdmissionParameters,
} from '../config/admission-parameters.ts';
import { readYaml } from '../config/yaml-document.ts';
import { isErrno } from '../errors.ts';

/** Where a site keeps its parameters, if it has any. */
export const admissionFile = '/etc/berth/admission.yml';

/**
 * The parameters of the admission policies. The file is read like an argument: it names no program and no secret, and nothing
 * of it is used on this host.
 *
 * @param options.required false: without the file, the built-in parameters
 * @throws {BerthError} `config-yaml-invalid`, `admission-invalid`; system errors of open(2)
 */
export function loadAdmissionParameters(
  file: string,
  { required }: { readonly required: boolean },
): AdmissionParameters {
  try {
    const { value, place } = readYaml(readFileSync(file, 'utf8'), file, 'core');
    return parseAdmissionParameters(value, file, place);
  } catch (thrown) {
    if (!required && isErrno(thrown, 'ENOENT')) return parseAdmissionParameters({}, file);
    throw thrown;
  }
}
