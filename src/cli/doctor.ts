import type { TestSessionFailure } from '../diagnose/doctor/test-session-process.ts';
import { asBerthError } from '../system/errors/berth-error.ts';
import { assertRoot } from '../system/as-user.ts';
import { command } from './kit/command.ts';
import { flag, outputOption, text } from './kit/options.ts';
import { overlayOf, siteOptions } from './kit/site-options.ts';
import type { Terminal } from './kit/terminal.ts';
import { withProgress } from './kit/progress.ts';
import { parseSeconds } from './kit/parse-seconds.ts';

/** `berth doctor`: checks the site, and prints what to do about each problem. */
export const doctorCommand = command({
  command: 'doctor',
  describe: 'Check the configuration, this host, the clusters, the identity provider and a user',
  options: {
    ...siteOptions,
    user: text('user', 'Also check this account'),
    'start-session': flag(
      'Run `true` in a test session of the account, as a login would, and remove it; needs root and --user',
    ),
    profile: text(
      'profile',
      'Of the SSH sessions only this profile and what it needs; a test session has it [default: all; the test session has what the rules give who asks for none]',
    ),
    cluster: text('cluster', 'Only this cluster'),
    timeout: text('TIME', 'Time limit of each check; they run at the same time', { default: '5s' }),
    output: outputOption,
  },
  needs: { '--start-session': '--user' },
  without: { '--start-session': ['--config-dir'] },
  examples: [
    ['berth doctor', 'Check the site, after a change of the configuration'],
    ['berth doctor --user alice', 'Also check the account, home and tokens of alice'],
    [
      'berth doctor --user alice --start-session',
      'Also start a container or pod of alice, and remove it',
    ],
    [
      'berth doctor --user alice --start-session --profile gpu',
      'The same with a profile that alice asks for',
    ],
    [
      'berth doctor --config-dir ./new',
      'Check a configuration before it is installed in /etc/berth',
    ],
    ['berth doctor -o json', 'Print JSON for monitoring: .summary.failed, .checks[].id'],
  ],
  epilogue:
    'Exit status: 0 no check failed (there may be warnings), 1 a check failed, more than 1 doctor could not run (sysexits(3)). Without --start-session, doctor changes nothing.',
  run: async (args, terminal) => {
    const timeoutMs = parseSeconds(args.timeout, 'timeout') * 1000;
    const { runDoctor } = await import('../diagnose/doctor/run-checks.ts');
    const { writeChecks } = await import('./kit/check-report.ts');
    const startsSession = args['start-session'];
    if (startsSession) assertRoot();
    const overlay = await overlayOf(args);
    const results = await withProgress(
      terminal,
      () =>
        startsSession
          ? 'checking, and starting a session'
          : `checking, at most ${args.timeout} for each`,
      () =>
        runDoctor({
          files: { configFile: args.config },
          overlay,
          username: args.user,
          profile: args.profile,
          cluster: args.cluster,
          sessionProgram: startsSession ? terminal.program : undefined,
          now: terminal.now() / 1000,
          timeoutMs,
        }),
    );
    return writeChecks(results, args.output, terminal);
  },
});

/**
 * What `berth doctor --start-session` runs as the user. Prints nothing if the session worked, else its error with the cause as
 * one line of JSON: here nobody but doctor reads it.
 *
 * @param words path of ssh.yml, name and backend of the profile, ID of the connection
 */
export async function runTestSessionCommand(
  words: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const [configFile = '', profile = '', backend = '', connection = ''] = words;
  try {
    const { runTestSession } = await import('../login/open/run-test-session.ts');
    const { toolsDir } = terminal;
    await runTestSession({ configFile, profile, backend, connection, toolsDir });
  } catch (thrown) {
    const { code, message, exitCode, cause } = asBerthError(thrown, 'the session');
    const why = cause instanceof Error ? cause.message : undefined;
    const failure: TestSessionFailure = { code, message, cause: why };
    terminal.stdout.write(`${JSON.stringify(failure)}\n`);
    terminal.finish(exitCode);
  }
}
