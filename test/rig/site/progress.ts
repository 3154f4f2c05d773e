const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const secondsBetweenLines = 15;

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/**
 * Runs one long step and says on stderr what is waited for: a spinner on a terminal, a line every
 * 15 seconds anywhere else. A failing step leaves its own line and the error passes through.
 *
 * @param what what is waited for, e.g. `Keycloak to answer at https://…`
 */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const stop = process.stderr.isTTY ? spin(what, started) : tell(what, started);
  try {
    const result = await work();
    stop(`✓ ${what} (${seconds(started)})`);
    return result;
  } catch (error) {
    stop(`✗ ${what} (${seconds(started)})`);
    throw error;
  }
}

/** One line of news that is not a step. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** An error for a person: its message, which for a process holds what the process said. */
export function complain(error: unknown): void {
  say(error instanceof Error ? error.message : String(error));
}

function spin(what: string, started: number): (last: string) => void {
  let turn = 0;
  const timer = setInterval(() => {
    const frame = frames[turn++ % frames.length] ?? '';
    process.stderr.write(`\r\x1b[2K${frame} ${what} (${seconds(started)})`);
  }, 100);
  return (last) => {
    clearInterval(timer);
    process.stderr.write(`\r\x1b[2K${last}\n`);
  };
}

function tell(what: string, started: number): (last: string) => void {
  say(`… ${what}`);
  const timer = setInterval(
    () => say(`… ${what}, ${seconds(started)} so far`),
    secondsBetweenLines * 1000,
  );
  return (last) => {
    clearInterval(timer);
    say(last);
  };
}
