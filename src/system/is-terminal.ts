import { readlinkSync } from 'node:fs';

/** Whether a descriptor is a terminal. Does not use node:tty, which would load all of node:net. */
export function isTerminal(descriptor: number): boolean {
  try {
    return /^\/dev\/(?:pts\/\d+|tty\w*|console)$/.test(readlinkSync(`/proc/self/fd/${descriptor}`));
  } catch {
    return false;
  }
}
