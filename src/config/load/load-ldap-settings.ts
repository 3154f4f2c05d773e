import { statSync } from 'node:fs';
import { type BerthOptions, parseBerthYml } from '../schema/berth-yml.ts';
import { defaultSettings } from '../schema/default-settings.ts';
import { configError, type Locate } from '../schema/config-error.ts';
import { type LdapSettings, parseLdap } from '../schema/ldap-settings.ts';
import { readYaml } from '../schema/yaml-document.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { installedPath } from '../../system/program/installed-path.ts';

/** The contents of the files that the settings name. */
export interface LdapSecrets {
  readonly ca?: string;
  readonly bind?: { readonly dn: string; readonly password: string };
}

export interface LoadedLdapSettings {
  readonly ldap: LdapSettings;
  readonly secrets: LdapSecrets;
  /** `minimum_uid`, as for the hook. */
  readonly minimumUid: number;
}

export interface LdapSettingsFiles {
  readonly configFile: string;
  /** For a pod that does not run as root: it reads its secrets as a member of their group (`fsGroup`). */
  readonly groupMayRead: boolean;
}

/**
 * The section `ldap` of berth.yml and the files that it names. The hook never reads it.
 *
 * @throws BerthError `ldap-not-configured`, `ldap-invalid`, `ldap-password-unsafe`, `berth-yml-invalid`, `config-…`
 */
export function loadLdapSettings({
  configFile,
  groupMayRead,
}: LdapSettingsFiles): LoadedLdapSettings {
  return ldapSettingsOf(readLdapSections(configFile), groupMayRead);
}

type Sections = BerthOptions & { readonly configFile: string; readonly place: Locate };

/** berth.yml, for those who read sections beside `ldap` in it. @throws BerthError `berth-yml-invalid`, `config-…` */
export function readLdapSections(configFile: string): Sections {
  const { value, place } = readYaml(readTrusted(configFile), configFile, 'core');
  return { ...parseBerthYml(value, configFile, place), configFile, place };
}

/** @throws BerthError as `loadLdapSettings` */
export function ldapSettingsOf(
  { ldap: section, minimum_uid: minimumUid, configFile, place }: Sections,
  groupMayRead: boolean,
): LoadedLdapSettings {
  if (section === undefined || section === null)
    throw configError(
      'ldap-not-configured',
      configFile,
      'has no section ldap',
      `${installedPath('share/docs/ldap-sync.md')} has an example.`,
    );
  const ldap = parseLdap(section, configFile, place);
  const ca = ldap.caFile === undefined ? undefined : readTrusted(ldap.caFile);
  const password = ldap.bind && readPassword(ldap.bind.passwordFile, groupMayRead ? 0o037 : 0o077);
  return {
    ldap,
    minimumUid: minimumUid ?? defaultSettings.minimumUid,
    secrets: {
      ca,
      ...(ldap.bind === undefined || password === undefined
        ? {}
        : { bind: { dn: ldap.bind.dn, password } }),
    },
  };
}

/** Without the newline at its end, which `ldapsearch -y` would take as part of the password. */
function readPassword(path: string, forbidden: number): string {
  const text = readTrusted(path);
  const mode = statSync(path).mode & 0o777;
  if ((mode & forbidden) !== 0)
    throw configError(
      'ldap-password-unsafe',
      path,
      `has mode ${mode.toString(8)}: others can read the password`,
      `Run \`chmod 0600 ${path}\`, and change the password if somebody may have read it.`,
    );
  return text.replace(/\r?\n$/, '');
}
