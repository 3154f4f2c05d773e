import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { defaultSettings, kindsDirectory } from '../config/schema/default-settings.ts';
import { mappingOrEmpty } from '../mapping.ts';
import { getent } from '../system/getent.ts';
import { readTrusted } from '../system/trusted-text.ts';

/** The kernel's overflow UID. */
const nobody = 65_534;

/** What a word of the command line can name. `sshd-kind` is NAME of berth-sshd@NAME, `explained` what `berth explain` knows. */
export type NameKind =
  | 'user'
  | 'group'
  | 'cluster'
  | 'profile'
  | 'sshd-kind'
  | 'balancer-kind'
  | 'balancer'
  | 'image'
  | 'address'
  | 'explained';

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
  group: async () => (await getent('group')).map((line) => line.split(':', 1)[0] ?? ''),
  cluster: () => stems(defaultSettings.clustersDir, '.yml'),
  profile: () => stems('/etc/berth/profiles', '.yml'),
  'sshd-kind': () => stems(kindsDirectory, '.conf'),
  'balancer-kind': () => namesInBalancerYml('kinds'),
  balancer: () => namesInBalancerYml('balancers'),
  image: async () => {
    const [{ loadSshSettings }, { wantedImages }, { imageStoreDir, readIndex }] = await Promise.all(
      [
        import('../config/load/load-ssh-settings.ts'),
        import('../images/wanted-images.ts'),
        import('../images/store-transaction.ts'),
      ],
    );
    const settings = await loadSshSettings({});
    const stored = readIndex(imageStoreDir(settings)).images.flatMap(({ names }) => names);
    const wanted = wantedImages(settings.profiles).map(({ image }) => image);
    return [...new Set([...wanted, ...stored])];
  },
  address: async () => {
    const { allAddresses, hostAddresses } = await import('../init/host-addresses.ts');
    return [allAddresses, ...hostAddresses()];
  },
  explained: async () => {
    const [{ explanations }, { keyNames }] = await Promise.all([
      import('./explain/explain-text.ts'),
      import('./explain/explain-key-text.ts'),
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

async function namesInBalancerYml(list: 'kinds' | 'balancers'): Promise<string[]> {
  const { parseYaml } = await import('../config/schema/yaml-document.ts');
  const file = '/etc/berth/balancer.yml';
  const entries = mappingOrEmpty(parseYaml(readTrusted(file), file, 'core'))[list];
  return Array.isArray(entries) ? entries.map((one) => String(mappingOrEmpty(one).name)) : [];
}
