import { join } from 'node:path';
import { kindsDirectory } from '../config/schema/default-settings.ts';
import { directoryNames } from '../system/directory-names.ts';

/** The configuration of the host's own sshd, which is read and never written. */
export const hostConfig = '/etc/ssh/sshd_config';

/** Path of a kind's configuration. */
export function kindFile(name: string): string {
  return join(kindsDirectory, `${name}.conf`);
}

/** The names of all kinds that have a configuration, sorted. */
export function kindNames(): string[] {
  return directoryNames(kindsDirectory)
    .filter((name) => name.endsWith('.conf') && !name.startsWith('.'))
    .map((name) => name.slice(0, -'.conf'.length))
    .sort();
}
