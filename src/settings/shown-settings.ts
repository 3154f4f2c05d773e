import { defaultConfigFile, defaultSettings } from '../config/default-settings.ts';
import { parseHookEnv } from '../config/hook-env/hook-env.ts';
import { readYaml } from '../config/yaml-document.ts';
import { asMapping, mappingOrEmpty } from '../mapping.ts';
import { readIfPresent } from '../system/trusted-text.ts';
import { asInstalled, type ResolveConfigPath } from './config-overlay.ts';

/** A key with its value, as a file has it. */
export interface ShownSetting {
  /** Such as `clusters.prod.admin.kubeconfig`; a variable of hook.env. */
  readonly key: string;
  /** `***` for a secret. */
  readonly value: unknown;
  readonly file: string;
  /** Counts from 1; absent for a default. */
  readonly line?: number;
}

const hidden = '***';

/** Not `client_secret_file`, which is a path. */
const secretName = /(?:^|_)(?:secret|token|password|passwd)$/i;

/**
 * What hook.env, berth.yml and ssh.yml set. A file that is not there sets nothing; what is checked is that each can be parsed.
 *
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-yaml-invalid`, `hook-env-…`
 */
export function shownSettings(
  configFile = defaultConfigFile,
  at: ResolveConfigPath = asInstalled,
): readonly ShownSetting[] {
  const berth = at(configFile);
  const settings = yamlSettings(berth);
  const named = settings.find(({ key }) => key === 'hook_env')?.value;
  return [
    ...(named === null ? [] : hookEnv(typeof named === 'string' ? at(named) : hookEnvFile(at))),
    ...settings,
    ...yamlSettings(at('/etc/berth/ssh.yml')),
  ];
}

function hookEnvFile(at: ResolveConfigPath): string {
  const { hookEnvFile: first, otherHookEnvFile } = defaultSettings;
  return readIfPresent(at(first)) === undefined ? at(otherHookEnvFile) : at(first);
}

function hookEnv(file: string): ShownSetting[] {
  const { values, lines } = parseHookEnv(readIfPresent(file) ?? '', file);
  return [...values].map(([key, value]) => setting(key, value, file, lines.get(key)));
}

function yamlSettings(file: string): ShownSetting[] {
  const text = readIfPresent(file);
  if (text === undefined) return [];
  const { value, place } = readYaml(text, file, 'core');
  const below = (path: readonly string[], one: unknown): ShownSetting[] => {
    const mapping = asMapping(one);
    if (mapping !== undefined && Object.keys(mapping).length > 0)
      return Object.entries(mapping).flatMap(([key, inner]) => below([...path, key], inner));
    return [setting(path.join('.'), one, file, place({ path, atKey: true })?.line)];
  };
  return Object.entries(mappingOrEmpty(value)).flatMap(([key, inner]) => below([key], inner));
}

function setting(key: string, value: unknown, file: string, line?: number): ShownSetting {
  const isSecret = secretName.test(key.split('.').at(-1) ?? '') && value !== null;
  return { key, value: isSecret ? hidden : value, file, ...(line !== undefined && { line }) };
}
