import { spawnSync } from 'node:child_process';
import { ReadStream, WriteStream } from 'node:tty';

/** The terminal on descriptor 0 while another terminal, far away, does the work. */
export interface RawTerminal {
  /** 0 where it does not say. */
  size(): { readonly columns: number; readonly rows: number };
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
    size: () => {
      // A stream knows the size that the terminal had when it was made.
      const now = new WriteStream(0);
      const [columns, rows] = now.getWindowSize();
      now.destroy();
      return { columns, rows };
    },
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
