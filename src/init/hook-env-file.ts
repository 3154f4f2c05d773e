import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** OnDemand's file of the hook's settings in a directory: its documentation has two names for it. */
export function hookEnvFileIn(directory: string): string {
  const [usual, other] = [join(directory, 'hook.env'), join(directory, 'hooks.env')];
  return !existsSync(usual) && existsSync(other) ? other : usual;
}
