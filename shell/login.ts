import { writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { asBerthError } from '../src/errors.ts';
import { openSession } from '../src/flows/open-session.ts';
import { escapeControl } from '../src/log.ts';
import { sessionRequest } from '../src/session/session-request.ts';
import { become } from '../src/system/become.ts';

async function main(args: readonly string[]): Promise<never> {
  // A connection starts in the home, which may hang or be somebody else's link by now.
  process.chdir('/');
  const request = sessionRequest(args, process.env.SSH_ORIGINAL_COMMAND, isatty(0));
  const filesFolder = join(dirname(dirname(process.argv[1] ?? '/')), 'files');
  return become(await openSession({ request, env: process.env, filesFolder }));
}

main(process.argv.slice(2)).catch((thrown: unknown) => {
  const { message, code, hint } = asBerthError(thrown, 'starting your session');
  writeSync(2, `login: ${escapeControl(message)} [${code}]. ${escapeControl(hint)}\n`);
  // ssh(1): what the client itself exits with when there is no session; no command's own code.
  process.exitCode = 255;
});
