import { join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { readConfigDirectory, readConfigFile } from '../../system/config-files.ts';
import { unlessConfigMissing } from '../../system/trusted-text.ts';
import { type DirectoryIds, sambaIds, sssdIds } from './rules/directory-ids.ts';

interface DirectoryQuery {
  readonly prefix?: string | undefined;
  /** The services of passwd in nsswitch.conf that are not of this host. */
  readonly services: readonly string[];
  /** Those of them that list nobody. */
  readonly silent: readonly string[];
  /** UID of the account sssd, to whom sssd.conf belongs on some distributions; absent if there is none. */
  readonly sssdUid?: number | undefined;
}

/**
 * The IDs that people of directories may have who are not listed. The ranges in sssd.conf and smb.conf count without the
 * service in nsswitch.conf, too: file systems may have files of these people.
 *
 * @throws {BerthError} those of `readConfigFile`, if others can write sssd.conf or smb.conf
 */
export function readDirectoryIds({
  prefix = '/',
  services,
  silent,
  sssdUid,
}: DirectoryQuery): DirectoryIds {
  const own = process.geteuid?.() ?? 0;
  const sssd = unlessUnreadable('sssd', () => sssdIds(sssdTexts(prefix, sssdUid ?? own)));
  const samba = unlessUnreadable('winbind', () =>
    sambaIds(textOf(join(prefix, 'etc/samba/smb.conf'), own)),
  );
  return {
    reserved: [...sssd.reserved, ...samba.reserved],
    unlisted: [
      ...(services.includes('sss') ? sssd.unlisted : []),
      ...(services.includes('winbind') ? samba.unlisted : []),
      ...silent
        .filter((service) => service !== 'sss' && service !== 'winbind')
        .map((service) => `the service ${service} of nsswitch.conf`),
    ],
  };
}

/** sssd.conf, and the snippets that sssd reads after it in this order. */
function sssdTexts(prefix: string, uid: number): string[] {
  const directory = join(prefix, 'etc/sssd/conf.d');
  const snippets = unlessConfigMissing(() => readConfigDirectory(directory, uid).names) ?? [];
  return [
    join(prefix, 'etc/sssd/sssd.conf'),
    ...snippets.filter((name) => /^[^.].*\.conf$/.test(name)).map((name) => join(directory, name)),
  ].map((path) => textOf(path, uid));
}

function textOf(path: string, uid: number): string {
  return (
    unlessConfigMissing(() => readConfigFile(path, uid, { mayBeEmpty: true }).bytes.toString()) ??
    ''
  );
}

/** Who is not root cannot read sssd.conf. */
function unlessUnreadable(service: string, read: () => DirectoryIds): DirectoryIds {
  try {
    return read();
  } catch (error) {
    if (error instanceof BerthError && error.code === 'config-unreadable')
      return { reserved: [], unlisted: [`${service} (${error.message})`] };
    throw error;
  }
}
