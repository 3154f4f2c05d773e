import type { BerthError } from '../errors.ts';
import type { BerthOptions } from './berth-yml.ts';
import type { ClusterDefinition } from './clusters-d.ts';
import type { HookEnvSettings } from './hook-env/hook-env-settings.ts';
import type { Place } from './problem.ts';
import type { SettingsWarning, SiteSettings } from './settings.ts';

/** What was read, each part already checked for itself. */
export interface SiteParts {
  readonly berth: BerthOptions;
  readonly berthFile: string;
  /** Of the values of `berth.yml`. */
  readonly berthPlace?: Place;
  /** Absent where the site says it has no `hook.env`. */
  readonly hookEnv?: HookEnvSettings;
  readonly hookEnvFile: string;
  readonly clusters: readonly (ClusterDefinition | BrokenCluster)[];
  /** What stands in a `client_secret_file`, by its path; without the newline at its end. */
  readonly clientSecrets: ReadonlyMap<string, string | BerthError>;
  /** What was odd when the files were read. */
  readonly warnings: readonly SettingsWarning[];
}

/** A cluster that cannot be served until somebody mends its configuration; the others can. */
export interface BrokenCluster {
  readonly cluster: string;
  readonly error: BerthError;
}

export interface LoadedSettings {
  readonly settings: SiteSettings;
  readonly broken: readonly BrokenCluster[];
}
