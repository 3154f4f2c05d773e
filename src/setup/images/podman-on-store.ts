import type { PodmanPaths } from '../../config/schema/profile/profile.ts';
import { BerthError, type ErrorCode } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { podmanStoreCommand, type WorkingStore } from './wanted-images.ts';
import { type ProgramError, runProgram } from '../../system/run-program.ts';

export interface PodmanOptions {
  /** The environment of `berth`; a few variables are passed on. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Ends podman at the deadline. */
  readonly signal: AbortSignal;
}

/**
 * Runs podman on the store and returns its standard output.
 *
 * @param attempted For the error, such as `image registry.example/site:1`.
 * @throws {BerthError} `podman-missing`, `deadline`, `image-digest-wrong`, `image-not-in-registry`, `registry-denied`,
 *   `registry-unreachable`, `registry-certificate`, `image-store-full`, `image-short-name`,
 *   `image-policy`, `archive-unreadable`, `podman-failed`
 */
export async function podmanOnStore(
  podman: PodmanPaths,
  store: WorkingStore,
  args: readonly string[],
  attempted: string,
  { env, signal }: PodmanOptions,
): Promise<string> {
  const call = podmanStoreCommand(podman, store, args, env);
  const options = { env: call.env, signal, maxBuffer: 16 * 1024 * 1024 };
  const { error, stdout, stderr } = await runProgram(call.file, call.args.slice(1), options);
  if (error !== undefined) throw podmanError(attempted, error, stderr, podman);
  return stdout;
}

/** Error texts of podman 4 and 5; the first match applies. */
const known: readonly (readonly [RegExp, ErrorCode])[] = [
  [/no space left on device|disk quota exceeded/i, 'image-store-full'],
  [
    /does not match (?:provided manifest )?digest|digest (?:mismatch|does not match)|didn't match digest|manifest digest .* does not|does not match expected|would not match destination reference|unexpected (?:digest|manifest)/i,
    'image-digest-wrong',
  ],
  [/does not match any of the supported image formats/i, 'archive-unreadable'],
  [
    /unauthorized|authentication required|access.*denied|invalid username\/password/i,
    'registry-denied',
  ],
  [
    /manifest unknown|name unknown|not found: manifest|repository name not known/i,
    'image-not-in-registry',
  ],
  [/x509:|certificate|server gave HTTP response to HTTPS client/i, 'registry-certificate'],
  [
    /connection refused|i\/o timeout|no such host|no route to host|connection reset|EOF|timeout/i,
    'registry-unreachable',
  ],
  [/short-name|unqualified-search/i, 'image-short-name'],
  [/rejected by policy|signature was required/i, 'image-policy'],
];

function podmanError(
  attempted: string,
  error: ProgramError,
  stderr: string,
  { podman }: PodmanPaths,
): BerthError {
  if (error.name === 'AbortError')
    return new BerthError(
      'deadline-exceeded',
      `${attempted}: not completed within the time limit`,
      {
        hint: 'Allow more time with --timeout. Incomplete layers are removed.',
      },
    );
  if (error.code === 'ENOENT' || error.code === 127)
    return new BerthError('podman-missing', `${attempted}: could not run ${podman}`, {
      cause: error,
    });
  const reason = lastError(stderr) ?? error.message;
  const [, code] = known.find(([pattern]) => pattern.test(stderr)) ?? [];
  return new BerthError(code ?? 'podman-failed', `${attempted}: ${reason}`, { cause: error });
}

/** Podman retries and prints each error; the last one is the reason. */
function lastError(stderr: string): string | undefined {
  const at = `\n${stderr}`.lastIndexOf('\nError: ');
  if (at < 0) return undefined;
  // After a line that ends in a colon, podman lists an error for each format.
  const [first = '', ...more] = stderr
    .slice(at + 'Error: '.length)
    .trim()
    .split('\n');
  const listed = more
    .map((line) => /^ \* (.*)/.exec(line)?.[1])
    .filter((line) => line !== undefined);
  const last = first.endsWith(':') ? [first, ...listed].join(' ') : first;
  return escapeControl(last).slice(0, 1_000);
}
