import type { BerthError } from '../../system/errors/berth-error.ts';
import type { BerthOptions } from './berth-yml.ts';
import type { ClusterDefinition } from './ood-cluster-file.ts';
import type { HookEnvSettings } from './hook-env/hook-env-settings.ts';
import type { Locate } from './config-error.ts';
import type { ClusterSettings, SettingsWarning, SiteSettings } from './settings.ts';

/** The contents of the site's files, each checked separately. */
export interface SiteFileContents {
  readonly berth: BerthOptions;
  readonly berthFile: string;
  /** Positions in `berth.yml`. */
  readonly berthPlace?: Locate;
  /** Absent if the site has no `hook.env`. */
  readonly hookEnv?: HookEnvSettings;
  readonly hookEnvFile: string;
  readonly clusters: readonly (ClusterDefinition | BrokenCluster)[];
  /** Contents of `client_secret_file`, `client_key_file` and `client_certificate_file`, by path; without the last newline. */
  readonly clientFiles: ReadonlyMap<string, string | BerthError>;
  /** What was odd when the files were read. */
  readonly warnings: readonly SettingsWarning[];
}

/** A cluster that cannot be used until its configuration is corrected. The others can. */
export interface BrokenCluster {
  readonly cluster: string;
  readonly error: BerthError;
  /** If only its users' credentials are not configured: the objects of users do not depend on them. */
  readonly withoutCredentials?: ClusterSettings;
}

export interface LoadedSiteSettings {
  readonly settings: SiteSettings;
  readonly broken: readonly BrokenCluster[];
}
