import {
  ldapSettingsOf,
  type LoadedLdapSettings,
  readLdapSections,
} from '../../config/load/load-ldap-settings.ts';
import { configError } from '../../config/schema/config-error.ts';
import { defaultSettings } from '../../config/schema/default-settings.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { parseSlurmAccounts, type SlurmAccountsSettings } from './rules/slurm-accounts-settings.ts';

export interface LoadedSlurmSyncSettings extends LoadedLdapSettings {
  readonly accounts: SlurmAccountsSettings;
  /** Berth's state directory. */
  readonly stateDir: string;
}

/**
 * The sections `ldap` and `slurm_accounts` of one file, and the files that the former names.
 *
 * @throws BerthError `slurm-accounts-not-configured`, `slurm-accounts-invalid`; as `loadLdapSettings`
 */
export function loadSlurmSyncSettings(configFile: string): LoadedSlurmSyncSettings {
  const sections = readLdapSections(configFile);
  const { slurm_accounts: section, state_dir: stateDir = defaultSettings.stateDir } = sections;
  if (section === undefined || section === null)
    throw configError(
      'slurm-accounts-not-configured',
      configFile,
      'has no section slurm_accounts',
      `${installedPath('share/docs/slurm.md')} has an example.`,
    );
  const accounts = parseSlurmAccounts(section, configFile, sections.place);
  return { ...ldapSettingsOf(sections, false), accounts, stateDir };
}
