import { writeSync } from 'node:fs';
import { isTerminal } from './controlling-terminal.ts';

export interface Progress {
  readonly show: (text: string) => void;
  readonly clear: () => void;
}

/** Progress is shown after this time; later for a command, because its output matters more. Milliseconds. */
const quietMs = { shell: 1_000, command: 10_000, sftp: 10_000 } as const;

/**
 * A line on the user's terminal that is erased at the end. Nothing is written to a pipe.
 *
 * @param kind what the client asked for
 */
export function terminalProgress(kind: keyof typeof quietMs): Progress {
  if (!isTerminal(2)) return { show: () => undefined, clear: () => undefined };
  let text = '';
  let shown = false;
  const draw = (): void => {
    writeSync(2, `\r\u001b[Kyour session: ${text} …`);
    shown = true;
  };
  const timer = setTimeout(draw, quietMs[kind]);
  return {
    show: (next) => {
      text = next;
      if (shown) draw();
    },
    clear: () => {
      clearTimeout(timer);
      if (shown) writeSync(2, '\r\u001b[K');
    },
  };
}
