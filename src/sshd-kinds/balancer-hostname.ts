import { existsSync } from 'node:fs';
import { parseYaml } from '../config/schema/yaml-document.ts';
import { readTrusted } from '../system/trusted-text.ts';

/**
 * The name that users type, `hostname` in balancer.yml. The rest of that file is not checked here.
 *
 * @returns undefined without a balancer
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-yaml-invalid`
 */
export function balancerHostname(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const document = parseYaml(readTrusted(file), file, 'core') as { hostname?: unknown } | null;
  return typeof document?.hostname === 'string' ? document.hostname : undefined;
}
