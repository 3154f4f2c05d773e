import { openSync, readlinkSync } from 'node:fs';
import type { TerminalSize } from './text/terminal-size.ts';

/** Whether a descriptor is a terminal. Does not use node:tty, which would load all of node:net. */
export function isTerminal(descriptor: number): boolean {
  try {
    return /^\/dev\/(?:pts\/\d+|tty\w*|console)$/.test(readlinkSync(`/proc/self/fd/${descriptor}`));
  } catch {
    return false;
  }
}

/**
 * The window size of the controlling terminal; undefined if there is none, or if the client gave no size. Takes two
 * milliseconds, mostly for loading node:tty, so only sessions with a terminal call it.
 *
 * The terminal is opened anew: libuv makes what it reads non-blocking, and the program that replaces this process
 * gets descriptors 0 to 2.
 */
export async function controllingTerminalSize(): Promise<TerminalSize | undefined> {
  const { WriteStream } = await import('node:tty');
  try {
    const terminal = new WriteStream(openSync('/dev/tty', 'r+'));
    const [columns, rows] = terminal.getWindowSize();
    terminal.destroy();
    return columns > 0 && rows > 0 ? { columns, rows } : undefined;
  } catch {
    // The size is then set a moment after the start.
    return undefined;
  }
}
