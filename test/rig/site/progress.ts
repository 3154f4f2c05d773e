const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const secondsBetweenLines = 15;

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/**
 * Runs a long step and shows its progress on stderr: a spinner on a terminal, otherwise a line every 15
 * seconds. If the step fails, a line says so, and the error is thrown.
 *
 * @param what the name of the step, for example `starting Keycloak`
 */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const stop = process.stderr.isTTY ? spin(what, started) : printLines(what, started);
  try {
    const result = await work();
    stop(`✓ ${what} (${seconds(started)})`);
    return result;
  } catch (error) {
    stop(`✗ ${what} (${seconds(started)})`);
    throw error;
  }
}

/** Prints a line to stderr. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Prints an error's message, which for a process contains its output. */
export function printError(error: unknown): void {
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

function printLines(what: string, started: number): (last: string) => void {
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
