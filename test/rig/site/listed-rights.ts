import type { Site } from './site.ts';

/**
 * What `kubectl auth can-i --list` prints of resources in a namespace, without what every account may ask:
 * `secrets [NAME] [get patch]`, sorted.
 */
export async function listedRights(
  site: Site,
  token: string,
  namespace: string,
): Promise<string[]> {
  const { stdout } = await site.kubectl(
    ['auth', 'can-i', '--list', '--no-headers', '-n', namespace],
    { token },
  );
  return stdout
    .split('\n')
    .filter((line) => !line.startsWith(' ') && !line.startsWith('selfsubject'))
    .map((line) => line.replace(/ +\[\] +/, ' ').replaceAll(/ +/g, ' '))
    .sort();
}
