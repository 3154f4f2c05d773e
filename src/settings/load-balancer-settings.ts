import { type BalancerSettings, parseBalancerSettings } from '../config/balancer-settings.ts';
import { readYaml } from '../config/yaml-document.ts';
import { readConfigFile } from '../system/config-files.ts';
import { decodeUtf8 } from './config-reader.ts';

/**
 * `balancer.yml`, checked and frozen.
 *
 * @throws BerthError `balancer-yml-invalid`, `config-…` of `readConfigFile`, `config-not-utf8`, `config-yaml-invalid`
 */
export function loadBalancerSettings(configFile: string): BalancerSettings {
  const file = readConfigFile(configFile, process.geteuid?.() ?? 0);
  const { value, place } = readYaml(decodeUtf8(file), configFile, 'core');
  return parseBalancerSettings(value, configFile, place);
}
