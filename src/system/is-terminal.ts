import { readlinkSync } from 'node:fs';

/** Whether a descriptor is a terminal. node:tty would know it too, and load all of node:net for it. */
export function isTerminal(descriptor: number): boolean {
  try {
    return /^\/dev\/(?:pts\/\d+|tty\w*|console)$/.test(readlinkSync(`/proc/self/fd/${descriptor}`));
  } catch {
    return false;
  }
}
