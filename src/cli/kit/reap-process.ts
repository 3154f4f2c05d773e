import type { StartReapProcess } from '../../login/cleanup/reap-in-turn.ts';
import type { SiteArguments } from './site-options.ts';
import type { Terminal } from './terminal.ts';

/**
 * Starts `berth reap` for some users, with the same files.
 *
 * @param more options of `berth reap`; without them its log is not shown
 */
export async function reapProcess(
  files: SiteArguments,
  { program, env }: Terminal,
  more?: readonly string[],
): Promise<StartReapProcess> {
  const { reapProcessCommand } = await import('../../login/cleanup/reap-in-turn.ts');
  const directory = files['config-dir'];
  const given = directory === undefined ? [] : ['--config-dir', directory];
  const words = ['reap', '--quiet', ...given, ...(more ?? []), '--turns'];
  return reapProcessCommand(program, words, env, more !== undefined);
}
