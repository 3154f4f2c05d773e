import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { hookEnvSettings } from '../../config/schema/hook-env/hook-env-settings.ts';
import { parseHookEnv } from '../../config/schema/hook-env/hook-env.ts';
import type { SettingsWarning } from '../../config/schema/settings.ts';
import { BerthError, withHint } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { readConfigFile } from '../../system/config-files.ts';
import { directoryNames } from '../../system/if-present.ts';
import { hookEnvFileIn } from './present-portal.ts';
import { oscKeys, type OscKey } from './rules/osc-keys.ts';

/** What OSC's hooks of a site become. */
export interface OscReport {
  readonly hookEnv: string;
  readonly keys: readonly OscKey[];
  /** Where scripts and manifests were looked for. */
  readonly directory?: string;
  /** Scripts and manifests there. */
  readonly files: readonly OscKey[];
  readonly warnings: readonly SettingsWarning[];
}

/** Scripts and manifests of OSC's hooks, and what replaces them. */
const replaced: Readonly<Record<string, string>> = {
  'k8s-bootstrap-ondemand.sh': installedPath('hooks/k8s-bootstrap'),
  'set-k8s-creds.sh': installedPath('hooks/set-k8s-creds'),
  'namespace.yaml': 'made by Berth',
  'network-policy.yaml': 'made by Berth: defaults.allow_cidrs',
  'rolebinding.yaml': 'made by Berth, for defaults.subject_prefix and the user',
  'job-pod-reaper.yaml': 'made by Berth if USE_JOB_POD_REAPER is true',
  'ondemand.yaml': "etc/kubernetes, with fewer rights for the hook's account",
};

/**
 * Reads a site's OSC hooks. hook.env is shell, and is read without a shell.
 *
 * @param path hook.env, or the directory with it and perhaps with the scripts
 * @param scripts the directory with the scripts, if it is another
 * @throws {BerthError} those of `readConfigFile`, `parseHookEnv` and `hookEnvSettings`
 */
export function oscReport(path: string, scripts?: string): OscReport {
  const isDirectory = existsSync(`${path}/.`);
  const hookEnv = isDirectory ? hookEnvFileIn(path) : path;
  const directory = scripts ?? (isDirectory ? path : undefined);
  const env = parseHookEnv(ownConfig(hookEnv), hookEnv);
  const settings = hookEnvSettings(env, hookEnv);
  return {
    hookEnv,
    keys: oscKeys(env, settings),
    ...(directory === undefined ? { files: [] } : { directory, files: filesIn(directory) }),
    warnings: settings.warnings,
  };
}

function ownConfig(file: string): Buffer {
  try {
    return readConfigFile(file, process.geteuid?.() ?? 0, { mayBeEmpty: true }).bytes;
  } catch (thrown) {
    if (!(thrown instanceof BerthError) || thrown.code !== 'config-missing') throw thrown;
    throw withHint(
      thrown,
      'Give hook.env or its directory with --from-osc; --osc-scripts is for the directory of the scripts.',
    );
  }
}

function filesIn(directory: string): OscKey[] {
  const places = ['', 'yaml', 'k8s-bootstrap', 'k8s-bootstrap/yaml'];
  return places
    .map((place) => join(directory, place))
    .filter((place) => existsSync(place))
    .flatMap((place) => directoryNames(place).map((name) => join(place, name)))
    .filter(
      (file) => /\.(?:sh|ya?ml)$/.test(file) && !/\/(?:ood_portal|nginx_stage)\.yml$/.test(file),
    )
    .map((file) => {
      const by = replaced[basename(file)];
      return {
        key: file,
        value: '',
        becomes: by ?? 'nothing: Berth applies no manifests and runs no scripts of a site',
        counterpart: by !== undefined,
      };
    });
}
