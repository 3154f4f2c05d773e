import { readFileSync } from 'node:fs';
import {
  type BalancerSettings,
  parseBalancerSettings,
} from '../../../../src/config/schema/balancer-settings.ts';
import { parseYaml } from '../../../../src/config/schema/yaml-document.ts';

const file = new URL('../../../../etc/berth/balancer.yml.example', import.meta.url);

/** etc/berth/balancer.yml.example. */
export const example: BalancerSettings = parseBalancerSettings(
  parseYaml(readFileSync(file, 'utf8'), 'balancer.yml', 'core'),
  'balancer.yml',
);
