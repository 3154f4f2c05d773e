import { asBerthError } from '../errors/berth-error.ts';
import type { TestSessionFailure } from '../doctor/test-session-process.ts';
import type { Terminal } from './kit/terminal.ts';

/**
 * What `berth doctor --start-session` runs as the user. Prints nothing if the session worked, else its error with the cause as
 * one line of JSON: here nobody but doctor reads it.
 *
 * @param words path of ssh.yml, name of the profile, ID of the connection
 */
export async function runTestSessionCommand(
  words: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const [configFile = '', profile = '', connection = ''] = words;
  try {
    const { runTestSession } = await import('../ssh/open/run-test-session.ts');
    const { toolsDir } = terminal;
    await runTestSession({ configFile, profile, connection, toolsDir });
  } catch (thrown) {
    const { code, message, exitCode, cause } = asBerthError(thrown, 'the session');
    const why = cause instanceof Error ? cause.message : undefined;
    const failure: TestSessionFailure = { code, message, cause: why };
    terminal.stdout.write(`${JSON.stringify(failure)}\n`);
    terminal.finish(exitCode);
  }
}
