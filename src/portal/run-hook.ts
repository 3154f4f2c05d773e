import { asBerthError, BerthError } from '../errors/berth-error.ts';
import { logfmtLogger, type Logger } from '../log.ts';
import { tuneStartup } from '../system/tune-startup.ts';
import { stderrSink } from '../system/exit-now.ts';
import type { OnDemandTokens } from '../credentials/renewable-token.ts';
import { prePunHook, type HookInput } from './pre-pun-hook.ts';

export type HookRequest = Pick<HookInput, 'username' | 'files' | 'parts'>;

/** Parses the arguments of an entry point. What it throws is reported as a usage error. */
export type Parser<Request> = (args: string[]) => Request;

/**
 * Runs a hook once. The log goes to standard error: nginx_stage drops it if the hook succeeds, and makes one long line
 * of it if the hook fails. So warnings and errors are also written to syslog, one line each.
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
  const problems: string[] = [];
  const log = logfmtLogger((line) => {
    write(line);
    if (!line.startsWith('level=info')) problems.push(line);
  });
  const exitCode = await run(args, env, parse, log);
  if (problems.length > 0) await writeToSyslog(problems);
  return exitCode;
}

async function run(
  args: string[],
  env: Record<string, string | undefined>,
  parse: Parser<HookRequest>,
  log: Logger,
): Promise<number> {
  try {
    const failed = await prePunHook({
      ...parsed(args, parse),
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

/**
 * The tokens of the portal's session: nginx_stage sets `OOD_` and the names of `pun_pre_hook_exports`,
 * where both `OIDC_ACCESS_TOKEN` and mod_auth_openidc's own `OIDC_access_token` work. An empty variable
 * counts as absent.
 */
function portalTokens(env: Readonly<Record<string, string | undefined>>): OnDemandTokens {
  const token = (name: string): string | undefined =>
    [env[`OOD_OIDC_${name.toUpperCase()}`], env[`OOD_OIDC_${name}`]].find((value) => value);
  const [accessToken, idToken, refreshToken] = ['access_token', 'id_token', 'refresh_token'].map(
    token,
  );
  return {
    ...(accessToken && { accessToken }),
    ...(idToken && { idToken }),
    ...(refreshToken && { refreshToken }),
  };
}

/** The module is loaded only if needed, because loading it takes time. */
async function writeToSyslog(lines: readonly string[]): Promise<void> {
  const { logToSyslog } = await import('../system/syslog.ts');
  for (const line of lines) await logToSyslog(line);
}

/** @throws {BerthError} `usage`, for any error of the parser */
export function parsed<Request>(args: string[], parse: Parser<Request>): Request {
  try {
    return parse(args);
  } catch (thrown) {
    if (thrown instanceof BerthError) throw thrown;
    throw hookUsageError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/** @returns An error of code `usage`. */
export function hookUsageError(message: string, hint = 'See `pre-pun --help`.'): BerthError {
  return new BerthError(message, { code: 'usage', hint });
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
