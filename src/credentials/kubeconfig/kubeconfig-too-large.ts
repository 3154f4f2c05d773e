import { BerthError } from '../../errors/berth-error.ts';

/**
 * @param file its name, for the message
 * @param why such as `has 9000000 bytes`
 */
export function kubeconfigTooLarge(file: string, why: string): BerthError {
  return new BerthError(`${file} ${why}`, { code: 'kubeconfig-too-large', fields: { file } });
}
