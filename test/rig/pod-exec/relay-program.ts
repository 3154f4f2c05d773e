/**
 * Runs one session through the relay, as `login` does. The argument is a `RelaySessionInput` as JSON. Errors are
 * printed to stderr, one line each.
 */
import { writeSync } from 'node:fs';
import { asBerthError } from '../../../src/system/errors/berth-error.ts';
import { relaySession, type RelaySessionInput } from '../../../src/sessions/exec/relay-session.ts';
import { exitNow } from '../../../src/system/exit-now.ts';

const say = (thrown: unknown): void => {
  const { code, message } = asBerthError(thrown, 'relaying');
  writeSync(2, `relay: ${code}: ${message}\n`);
};

relaySession(JSON.parse(process.argv[2] ?? '{}') as RelaySessionInput).then(
  ({ exitCode, reason }) => {
    if (reason !== undefined) say(reason);
    exitNow(exitCode);
  },
  (thrown: unknown) => {
    say(thrown);
    exitNow(255);
  },
);
