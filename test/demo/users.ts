import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { commandAs, ensureAccount, homeOf } from '../rig/site/accounts.ts';
import { namespacePrefix } from '../rig/site/portal.ts';
import type { KubectlResult, Site } from '../rig/site/site.ts';

/** The users of the demo, who exist in the realm. */
export const demoUsers = ['alice', 'bob'] as const;
export type DemoUser = (typeof demoUsers)[number];

export function namespaceOf(person: DemoUser): string {
  return `${namespacePrefix}${person}`;
}

/** Resets the users to the state before their first login: a Linux account, no namespace, no `~/.kube`. */
export async function resetUsers(site: Site): Promise<void> {
  for (const person of demoUsers) {
    await ensureAccount(person);
    await rm(join(homeOf(person), '.kube'), { recursive: true, force: true });
  }
  const namespaces = demoUsers.map(namespaceOf);
  await site.kubectl(['delete', 'namespace', '--ignore-not-found', '--wait', ...namespaces]);
}

/** Runs kubectl as the user, with `~/.kube/config` and without KUBECONFIG. */
export async function runUserKubectl(
  person: DemoUser,
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
