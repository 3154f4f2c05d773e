import { type BalancerSettings, parseBalancerSettings } from '../schema/balancer-settings.ts';
import { readYaml } from '../schema/yaml-document.ts';
import { readTrusted } from '../../system/trusted-text.ts';

/**
 * `balancer.yml`, checked and frozen.
 *
 * @throws BerthError `balancer-yml-invalid`, `config-…` of `readConfigFile`, `config-not-utf8`, `config-yaml-invalid`
 */
export function loadBalancerSettings(configFile: string): BalancerSettings {
  const { value, place } = readYaml(readTrusted(configFile), configFile, 'core');
  return parseBalancerSettings(value, configFile, place);
}
