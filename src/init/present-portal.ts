import { defaultSettings } from '../config/schema/default-settings.ts';
import { parseBerthYml } from '../config/schema/berth-yml.ts';
import { readYaml } from '../config/schema/yaml-document.ts';
import type { PortalToken } from './portal-tokens.ts';
import { readIfPresent } from '../system/trusted-text.ts';

/** What berth.yml says already, for the defaults of the questions. */
export interface PresentPortal {
  readonly subjectPrefix: string;
  readonly audience: string;
  readonly caFile: string;
  /** Empty: neither `exchange` nor `token` is set. */
  readonly token: PortalToken | '';
  readonly exchangeScope: string;
  readonly hookEnv?: string;
  /** Root's kubeconfig with the hook's tokens. */
  readonly hookKubeconfig: string;
}

/** @throws {BerthError} `config-yaml-invalid`, `berth-yml-invalid`; system errors */
export function presentPortal(file: string): PresentPortal {
  const text = readIfPresent(file) ?? '';
  const { value, place } = readYaml(text, file, 'core');
  const { defaults, hook_env } = parseBerthYml(value, file, place);
  const { exchange, token, exchange_scope } = defaults?.credentials ?? {};
  return {
    subjectPrefix: defaults?.subject_prefix ?? '',
    audience: defaults?.credentials?.audience ?? '',
    caFile: defaults?.credentials?.ca_file ?? '',
    token: exchange === true ? 'exchange' : exchange === false ? (token ?? 'id') : '',
    exchangeScope: exchange_scope ?? '',
    hookKubeconfig: defaults?.admin?.kubeconfig ?? defaultSettings.adminKubeconfig,
    ...(typeof hook_env === 'string' ? { hookEnv: hook_env } : {}),
  };
}
