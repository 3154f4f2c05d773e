import { defaultConfigFile, defaultSettings } from '../schema/default-settings.ts';
import { hidden, shownUrl } from '../schema/hide-secrets.ts';
import { isShownVariable } from '../schema/hook-env/hook-env-settings.ts';
import { parseHookEnv } from '../schema/hook-env/hook-env.ts';
import { readYaml } from '../schema/yaml-document.ts';
import { asMapping, mappingOrEmpty } from '../../system/text/mapping.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { asInstalled, type ResolveConfigPath } from './config-path.ts';

/** A key with its value, as a file has it. */
export interface ShownSetting {
  /** Such as `clusters.prod.admin.kubeconfig`; a variable of hook.env. */
  readonly key: string;
  /** `***` for a secret. */
  readonly value: unknown;
  readonly file: string;
  /** Counts from 1; absent for a default. */
  readonly line?: number | undefined;
}

/** Not `client_secret_file`, which is a path. Berth's own `credentials.token` and `ssh_sessions.secret` are names. */
const secretName =
  /(?:^|[._])(?<!\bcredentials\.)(?<!\bssh_sessions\.)(?:secret|token|password|passwd)$/i;

/** The files with keys that can have defaults. */
export interface SettingsFiles {
  readonly berthYml: string;
  readonly sshYml: string;
}

/** Which files are read. */
export function settingsFiles(
  configFile = defaultConfigFile,
  at: ResolveConfigPath = asInstalled,
): SettingsFiles {
  return { berthYml: at(configFile), sshYml: at('/etc/berth/ssh.yml') };
}

/**
 * What hook.env, berth.yml and ssh.yml set. A file that is not there sets nothing; what is checked is that each can be parsed.
 *
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-yaml-invalid`, `hook-env-…`
 */
export function shownSettings(
  { berthYml, sshYml }: SettingsFiles,
  at: ResolveConfigPath = asInstalled,
): readonly ShownSetting[] {
  const settings = yamlSettings(berthYml);
  const named = settings.find(({ key }) => key === 'hook_env')?.value;
  return [
    ...(named === null ? [] : hookEnv(typeof named === 'string' ? at(named) : hookEnvFile(at))),
    ...settings,
    ...yamlSettings(sshYml),
  ];
}

function hookEnvFile(at: ResolveConfigPath): string {
  const { hookEnvFile: first, otherHookEnvFile } = defaultSettings;
  return readIfPresent(at(first)) === undefined ? at(otherHookEnvFile) : at(first);
}

function hookEnv(file: string): ShownSetting[] {
  const { values, lines } = parseHookEnv(readIfPresent(file) ?? '', file);
  const secret = values.get('CLIENT_SECRET') ?? '';
  const shown = (value: string): string =>
    shownUrl(secret === '' ? value : value.replaceAll(secret, hidden));
  return [...values].map(([key, value]) => ({
    key,
    value: value === '' || isShownVariable(key) ? shown(value) : hidden,
    file,
    line: lines.get(key),
  }));
}

function yamlSettings(file: string): ShownSetting[] {
  const text = readIfPresent(file);
  if (text === undefined) return [];
  const { value, place } = readYaml(text, file, 'core');
  const below = (path: readonly string[], one: unknown): ShownSetting[] => {
    const mapping = asMapping(one);
    if (mapping !== undefined && Object.keys(mapping).length > 0)
      return Object.entries(mapping).flatMap(([key, inner]) => below([...path, key], inner));
    const key = path.join('.');
    return [{ key, value: shownValue(key, one), file, line: place({ path, atKey: true })?.line }];
  };
  return Object.entries(mappingOrEmpty(value)).flatMap(([key, inner]) => below([key], inner));
}

/** Without secrets, also those in a list. */
function shownValue(key: string, value: unknown): unknown {
  if (secretName.test(key)) return value === null ? null : hidden;
  if (typeof value === 'string') return shownUrl(value);
  if (Array.isArray(value)) return value.map((one) => shownValue(key, one));
  const mapping = asMapping(value);
  if (mapping === undefined) return value;
  return Object.fromEntries(
    Object.entries(mapping).map(([name, inner]) => [name, shownValue(`${key}.${name}`, inner)]),
  );
}
