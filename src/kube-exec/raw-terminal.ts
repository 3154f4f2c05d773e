import { spawnSync } from 'node:child_process';
import { ReadStream, WriteStream } from 'node:tty';

/** In characters; 0 if the terminal does not report it. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The local terminal on descriptor 0 in raw mode, while the terminal in the pod processes keys and output. */
export interface RawTerminal {
  size(): TerminalSize;
  onResize(changed: () => void): void;
  /** Restores the former mode. May be called more than once; Node does the same if the process exits first. */
  restore(): void;
}

/**
 * Sets raw mode, as cfmakeraw(3) does.
 *
 * @throws {Error} if the terminal no longer exists
 */
export function openRawTerminal(): RawTerminal {
  const input = new ReadStream(0);
  input.setRawMode(true);
  // Node 22 leaves output processing on, which turns LF into CR LF and moves the cursor of full-screen programs.
  spawnSync('/bin/stty', ['-opost', '-iexten'], { stdio: [0, 'ignore', 'ignore'], env: {} });
  const listeners: (() => void)[] = [];
  return {
    size: terminalSize,
    onResize: (changed) => {
      listeners.push(changed);
      process.on('SIGWINCH', changed);
    },
    restore: () => {
      for (const listener of listeners.splice(0)) process.off('SIGWINCH', listener);
      if (!input.destroyed) input.setRawMode(false);
      input.destroy();
    },
  };
}

/** The current size of the terminal on descriptor 0. A stream only has the size at the time it was created. */
export function terminalSize(): TerminalSize {
  const now = new WriteStream(0);
  const [columns, rows] = now.getWindowSize();
  now.destroy();
  return { columns, rows };
}
