import { installedPath } from '../installed-path.ts';
import type { LocalAccount } from './account-state.ts';
import { type FileStep, whole } from './setup.ts';

/** The login shells that accounts had before they got Berth's, so that a later run can say how to go back. */
export const formerShellsFile = '/etc/berth/former-shells';

export function formerShells(text = ''): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^([^#:\n]+):(.+)$/gm)].map(([, name = '', shell = '']) => [name, shell]),
  );
}

/** Adds the shells that will be replaced. No step if there is nothing to keep. */
export function keepShells(
  present: string | undefined,
  accounts: readonly LocalAccount[],
): FileStep[] {
  const shells = new Map(formerShells(present));
  for (const { name, shell } of accounts)
    if (shell !== installedPath('shell/login')) shells.set(name, shell === '' ? '/bin/sh' : shell);
  if (shells.size === 0) return [];
  const lines = [...shells].map(([name, shell]) => `${name}:${shell}\n`);
  return [
    {
      ...whole(formerShellsFile, `# Login shells before berth init login-node\n${lines.join('')}`),
      formerTexts: present === undefined ? [] : [present],
    },
  ];
}
