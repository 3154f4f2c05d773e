import { type Entry, groupEntry, personEntry, type Slapd } from '../../rig/slapd.ts';
import type { NewObject } from './api-load.ts';
import { crowdName, namespaceAlone } from './user-namespaces.ts';

/** One of so many people has a namespace on the cluster: 20,000 of 60,000. */
export const peoplePerNamespace = 3;

/** So many people for each group: 5,000 groups of 60,000 people. */
const peoplePerGroup = 12;

/** In how many groups each person is, besides the primary one. */
const groupsPerPerson = 4;

/** A directory as in RFC 2307: groups list the names of their members. */
export function directoryOf(people: number): readonly Entry[] {
  const groups = Math.ceil(people / peoplePerGroup);
  const members = Array.from({ length: groups }, (): string[] => []);
  for (let index = 0; index < people; index += 1)
    for (let nth = 0; nth < groupsPerPerson; nth += 1)
      members[(index + nth * 7) % groups]?.push(crowdName(index));
  return [
    ...Array.from({ length: people }, (_, index) => personEntry(crowdName(index), 100_000 + index)),
    ...members.map((names, index) => groupEntry(`group${index}`, 1_000_000 + index, names)),
  ];
}

/** The namespaces of these people, as of logins before the first `berth ldap-sync`. */
export function* namespacesOf(people: number): Generator<NewObject> {
  for (let index = 0; index < people; index += peoplePerNamespace)
    yield namespaceAlone(index, 1_700_000_000);
}

/** Gives so many people with namespaces another primary group. */
export async function changePeople(slapd: Slapd, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { dn } = personEntry(crowdName(index * peoplePerNamespace), 0);
    await slapd.replace(dn, 'gidNumber', 2_000_000 + index);
  }
}
