import { spawnSync } from 'node:child_process';
import { ReadStream, WriteStream } from 'node:tty';

/** In characters; 0 where the terminal does not say. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The terminal on descriptor 0 while another terminal, far away, does the work. */
export interface RawTerminal {
  size(): TerminalSize;
  onResize(changed: () => void): void;
  /** As it was; may be called more than once. Node does the same where the process ends first. */
  restore(): void;
}

/**
 * Every key is a byte and every byte is shown as it is, as cfmakeraw(3) has it.
 *
 * @throws Error where the terminal is gone.
 */
export function rawTerminal(): RawTerminal {
  const input = new ReadStream(0);
  input.setRawMode(true);
  // What Node 22 leaves on would make CR LF of each LF, which moves the cursor of a full-screen program.
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

/** Of the terminal on descriptor 0, as it is now: a stream knows the one that it had when it was made. */
export function terminalSize(): TerminalSize {
  const now = new WriteStream(0);
  const [columns, rows] = now.getWindowSize();
  now.destroy();
  return { columns, rows };
}
