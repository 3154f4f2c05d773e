import { existsSync } from 'node:fs';
import { parseYaml } from '../config/yaml-document.ts';
import { readConfigFile } from '../system/config-files.ts';

/**
 * The name that users type, `hostname` in balancer.yml. The rest of that file is not checked here.
 *
 * @returns undefined without a balancer
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-yaml-invalid`
 */
export function balancerHostname(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const { bytes } = readConfigFile(file, process.geteuid?.() ?? 0);
  const document = parseYaml(bytes.toString('utf8'), file, 'core') as { hostname?: unknown } | null;
  return typeof document?.hostname === 'string' ? document.hostname : undefined;
}
