import { asBerthError, BerthError } from '../errors.ts';
import { logfmtLogger, type Logger } from '../log.ts';
import { leanStart } from '../system/lean-start.ts';
import { stderrSink } from '../system/leave.ts';
import { login, type LoginInput } from './pre-pun-hook.ts';
import { portalTokens } from './portal-tokens.ts';

export type HookRequest = Pick<LoginInput, 'username' | 'files' | 'parts'>;

/**
 * One run of a hook, from its words and environment to its exit code. The log goes to standard error. Where
 * the hook succeeds nginx_stage drops it, and where it fails makes one long line of all of it; so what is
 * more than information is written to syslog here, line by line.
 *
 * @param read Makes a request of the arguments; what it throws is an error of usage.
 */
export async function runHook(
  read: () => HookRequest,
  env: Record<string, string | undefined>,
): Promise<number> {
  leanStart(env);
  const write = stderrSink();
  const noted: string[] = [];
  const log = logfmtLogger((line) => {
    write(line);
    if (!line.startsWith('level=info')) noted.push(line);
  });
  const exitCode = await run(read, env, log);
  if (noted.length > 0) await noteInSyslog(noted);
  return exitCode;
}

async function run(
  read: () => HookRequest,
  env: Record<string, string | undefined>,
  log: Logger,
): Promise<number> {
  try {
    const failed = await login({
      ...hookRequest(read),
      tokens: portalTokens(env),
      log,
      now: () => Date.now() / 1000,
    });
    return failed?.exitCode ?? 0;
  } catch (thrown) {
    const error = asBerthError(thrown, 'the hook');
    log.error(error);
    return error.exitCode;
  }
}

/** Loaded where there is something to say: a login that is well pays nothing for it. */
async function noteInSyslog(lines: readonly string[]): Promise<void> {
  const { syslog } = await import('../system/syslog.ts');
  for (const line of lines) await syslog(line);
}

/** What `read` makes of the arguments; whatever it throws becomes an error of usage. */
export function hookRequest<Request>(read: () => Request): Request {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof BerthError) throw thrown;
    throw usageError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/** @returns An error of code `usage`. */
export function usageError(message: string): BerthError {
  return new BerthError(message, { code: 'usage', exit: 'usage', hint: 'See --help.' });
}

/** The two arguments of OSC's scripts, `USER HOOK_ENV`. @throws {BerthError} `usage` */
export function oscArguments([username, hookEnvFile, ...rest]: readonly string[]): Pick<
  HookRequest,
  'username' | 'files'
> {
  if (username === undefined || username === '') throw usageError('the user name is missing');
  if (hookEnvFile === undefined || hookEnvFile === '')
    throw usageError('the path of hook.env is missing');
  if (rest.length > 0) throw usageError(`there are ${rest.length} arguments too many`);
  return { username, files: { hookEnvFile } };
}
