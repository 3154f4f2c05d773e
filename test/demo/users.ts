import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { commandAs, ensureAccount, homeOf } from '../rig/site/accounts.ts';
import { namespacePrefix } from '../rig/site/portal.ts';
import type { KubectlResult, Site } from '../rig/site/site.ts';

/** Who logs in. The realm has them from the start. */
export const people = ['alice', 'bob'] as const;
export type Person = (typeof people)[number];

export function namespaceOf(person: Person): string {
  return `${namespacePrefix}${person}`;
}

/** Their Linux accounts, as on the day before their first login: no namespace, no `~/.kube`. */
export async function newcomers(site: Site): Promise<void> {
  for (const person of people) {
    await ensureAccount(person);
    await rm(join(homeOf(person), '.kube'), { recursive: true, force: true });
  }
  const namespaces = people.map(namespaceOf);
  await site.kubectl(['delete', 'namespace', '--ignore-not-found', '--wait', ...namespaces]);
}

/** kubectl as the person runs it: own account, own `~/.kube/config`, no KUBECONFIG. */
export async function kubectlOf(
  person: Person,
  site: Site,
  args: readonly string[],
  input?: string,
): Promise<KubectlResult> {
  const { command, args: argv } = commandAs(person, site.kubectlPath, args);
  const { exitCode, stdout, stderr, shortMessage } = await execa(command, argv, {
    reject: false,
    extendEnv: false,
    env: { PATH: process.env.PATH, HOME: homeOf(person) },
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    timeout: 60_000,
  });
  if (exitCode === undefined) throw new Error(shortMessage);
  return { exitCode, stdout, stderr };
}
