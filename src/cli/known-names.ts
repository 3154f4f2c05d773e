import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { defaultSettings, kindsDirectory } from '../config/default-settings.ts';
import { getent } from '../system/getent.ts';

/** The kernel's overflow UID. */
const nobody = 65_534;

/** What a word of the command line can name. `kind` is a kind of sessions, `explained` what `berth explain` knows. */
export type NameKind = 'user' | 'cluster' | 'profile' | 'kind' | 'explained';

/** The names that this host knows, in order. None if they cannot be read: a message would be in the middle of a command line. */
export async function namesOf(kind: NameKind): Promise<readonly string[]> {
  try {
    return (await sources[kind]()).toSorted();
  } catch {
    return [];
  }
}

const sources: Readonly<Record<NameKind, () => readonly string[] | Promise<readonly string[]>>> = {
  user: async () =>
    (await getent('passwd')).flatMap((line) => {
      const [name = '', , uid] = line.split(':');
      return Number(uid) >= defaultSettings.minimumUid && Number(uid) < nobody ? name : [];
    }),
  cluster: () => stems(defaultSettings.clustersDir, '.yml'),
  profile: () => stems('/etc/berth/profiles', '.yml'),
  kind: () => stems(kindsDirectory, '.conf'),
  explained: async () => {
    const [{ explanations }, { keyNames }] = await Promise.all([
      import('./explain-text.ts'),
      import('./explain-key-text.ts'),
    ]);
    return [...explanations(undefined).map(({ code }) => code), ...keyNames()];
  },
};

/** Names of the files in a directory that end so, without that end. */
function stems(directory: string, end: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(end))
    .map((name) => basename(name, end));
}
