import { asBerthError, BerthError, messageOf } from '../system/errors/berth-error.ts';
import type { ErrorCode } from '../system/errors/error-codes.ts';
import { lineLogger, type LogLevel } from '../log.ts';
import { sessionId } from '../system/program/session-id.ts';
import { EventSpool } from '../system/event-spool.ts';
import { ownProcessId } from '../system/process-start.ts';
import { exitThroughLogger, logToSyslog } from '../system/syslog.ts';
import { tuneStartup } from '../system/tune-startup.ts';
import { stderrSink } from '../system/exit-now.ts';
import type { OnDemandTokens } from '../credentials/renewable-token.ts';
import { prePunHook, type HookInput, type HookPhases } from './pre-pun-hook.ts';

export type HookRequest = Pick<HookInput, 'username' | 'files' | 'parts'>;

/** Parses the arguments of an entry point. What it throws is reported as a usage error. */
export type Parser<Request> = (args: string[]) => Request;

/**
 * Runs a hook once. The log goes to standard error: nginx_stage drops it if the hook succeeds, and makes one long line
 * of it if the hook fails. So warnings and errors are also written to syslog, one line each, and one line that the login was.
 *
 * @returns the exit code
 */
export async function runHook(
  args: string[],
  env: Record<string, string | undefined>,
  parse: Parser<HookRequest>,
): Promise<number> {
  tuneStartup(env);
  const write = stderrSink();
  const forSyslog: SyslogLine[] = [];
  const session = sessionId(ownProcessId());
  const spool = new EventSpool('pre-pun');
  spool.add('portal login begun');
  spool.write();
  const log = lineLogger(
    (line, level) => {
      write(line);
      if (level !== 'info') forSyslog.push({ line, level });
    },
    {},
    spool.observe,
  );
  const { exitCode, user, ...more } = await run(args, env, parse, { session, log });
  const toSyslog = (line: string, level: LogLevel): unknown => forSyslog.push({ line, level });
  lineLogger(toSyslog, { user, session }, spool.observe).info('portal login', {
    exit: exitCode,
    took_ms: Math.round(performance.now()),
    ...more,
  });
  spool.write();
  await writeToSyslog(forSyslog, exitCode);
  return exitCode;
}

interface SyslogLine {
  readonly line: string;
  readonly level: LogLevel;
}

/** What the last line of a login says, besides its time. */
interface HookEnd extends Partial<HookPhases> {
  readonly exitCode: number;
  readonly user?: string | undefined;
  /** Of the first error. */
  readonly code?: ErrorCode;
}

async function run(
  args: string[],
  env: Record<string, string | undefined>,
  parse: Parser<HookRequest>,
  context: Pick<HookInput, 'session' | 'log'>,
): Promise<HookEnd> {
  let user: string | undefined;
  try {
    const request = parsed(args, parse);
    user = request.username;
    const { error, ...phases } = await prePunHook({
      ...request,
      ...context,
      tokens: portalTokens(env),
      now: () => Date.now() / 1000,
    });
    return { exitCode: error?.exitCode ?? 0, user, ...(error && { code: error.code }), ...phases };
  } catch (thrown) {
    const error = asBerthError(thrown, 'the hook');
    context.log.error(error, { user, session: context.session });
    return { exitCode: error.exitCode, user, code: error.code };
  }
}

/**
 * The tokens of the portal's session: nginx_stage sets `OOD_` and the names of `pun_pre_hook_exports`,
 * where both `OIDC_ACCESS_TOKEN` and mod_auth_openidc's own `OIDC_access_token` work. An empty variable
 * counts as absent.
 */
function portalTokens(env: Readonly<NodeJS.ProcessEnv>): OnDemandTokens {
  const token = (name: string): string | undefined =>
    [env[`OOD_OIDC_${name.toUpperCase()}`], env[`OOD_OIDC_${name}`]].find((value) => value);
  const [accessToken, idToken, refreshToken] = ['access_token', 'id_token', 'refresh_token'].map(
    token,
  );
  return { accessToken, idToken, refreshToken };
}

/** The last line, usually the only one, replaces the process of a hook that has succeeded: that needs no fork. */
async function writeToSyslog(lines: readonly SyslogLine[], exitCode: number): Promise<void> {
  const last = exitCode === 0 ? lines.at(-1) : undefined;
  for (const { line, level } of last === undefined ? lines : lines.slice(0, -1))
    await logToSyslog(line, level);
  if (last !== undefined) exitThroughLogger(last.line, last.level);
}

/** @throws {BerthError} `usage`, for any error of the parser */
export function parsed<Request>(args: string[], parse: Parser<Request>): Request {
  try {
    return parse(args);
  } catch (thrown) {
    if (thrown instanceof BerthError) throw thrown;
    throw hookUsageError(messageOf(thrown));
  }
}

/** @returns An error of code `usage`. */
export function hookUsageError(message: string, hint = 'See `pre-pun --help`.'): BerthError {
  return new BerthError('usage', message, { hint });
}

const oscHint =
  "OnDemand's pre-hook script runs this program as root with two arguments: USER HOOK_ENV.";

/** The two arguments of OSC's scripts, `USER HOOK_ENV`. @throws {BerthError} `usage` */
export function oscArguments([username, hookEnvFile, ...rest]: readonly string[]): Pick<
  HookRequest,
  'username' | 'files'
> {
  if (username === undefined || username === '')
    throw hookUsageError('the user name is missing', oscHint);
  if (hookEnvFile === undefined || hookEnvFile === '')
    throw hookUsageError('the path of hook.env is missing', oscHint);
  if (rest.length > 0) throw hookUsageError('there are more than two arguments', oscHint);
  return { username, files: { hookEnvFile } };
}
