import type { ExecFileException } from 'node:child_process';
import type { PodmanPaths } from '../config/schema/profile/profile.ts';
import { BerthError, type ErrorCode } from '../errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { podmanStoreCommand, type WorkingStore } from './wanted-images.ts';
import { runProgram } from '../system/run-program.ts';

export interface PodmanOptions {
  /** The environment of `berth`; a few variables are passed on. */
  readonly env: Readonly<Record<string, string | undefined>>;
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
  const options = { env: { ...call.env }, cwd: '/', signal, maxBuffer: 16 * 1024 * 1024 };
  const { error, stdout, stderr } = await runProgram(call.file, call.args.slice(1), options);
  if (error !== undefined) throw podmanError(attempted, error, stderr, podman);
  return stdout;
}

interface Known {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  readonly hint: string;
}

/** For `image-store-full`. */
export const storeFullHint =
  'Check the storage directory with df and df -i; `berth images gc --dry-run` shows which images could be removed. The store is unchanged.';

/** Error texts of podman 4 and 5; the first match applies. */
const known: readonly Known[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    code: 'image-store-full',
    hint: storeFullHint,
  },
  {
    pattern:
      /does not match (?:provided manifest )?digest|digest (?:mismatch|does not match)|didn't match digest|manifest digest .* does not|does not match expected|would not match destination reference|unexpected (?:digest|manifest)/i,
    code: 'image-digest-wrong',
    hint: 'The registry, or the archive, has another image under this name. Find out why before you change the digest.',
  },
  {
    pattern: /does not match any of the supported image formats/i,
    code: 'archive-unreadable',
    hint: 'The archive must come from `podman save`, `docker save` or `skopeo copy`, and be complete. Device nodes in the image (below /dev) cannot be stored: build it with an empty /dev, or remove them before `podman import`: tar --delete -f ROOT.tar --wildcards "./dev/?*"',
  },
  {
    pattern: /unauthorized|authentication required|access.*denied|invalid username\/password/i,
    code: 'registry-denied',
    hint: 'Check that the file of --auth-file (or registry_auth in ssh.yml) has this registry, with a valid password.',
  },
  {
    pattern: /manifest unknown|name unknown|not found: manifest|repository name not known/i,
    code: 'image-not-in-registry',
    hint: 'Correct the name or the digest in the profile, or push the image.',
  },
  {
    pattern: /x509:|certificate|server gave HTTP response to HTTPS client/i,
    code: 'registry-certificate',
    hint: 'Put the CA into /etc/containers/certs.d/HOST:PORT/ca.crt (containers-certs.d(5)).',
  },
  {
    pattern:
      /connection refused|i\/o timeout|no such host|no route to host|connection reset|EOF|timeout/i,
    code: 'registry-unreachable',
    hint: 'Images that are in the store stay usable. Try again when the registry answers, or load the image from a file: `berth images pull --from-archive FILE`.',
  },
  {
    pattern: /short-name|unqualified-search/i,
    code: 'image-short-name',
    hint: 'Write the image with its registry: registry.example/site/base:1.',
  },
  {
    pattern: /rejected by policy|signature was required/i,
    code: 'image-policy',
    hint: 'Allow the image in /etc/containers/policy.json.',
  },
];

function podmanError(
  attempted: string,
  error: ExecFileException,
  stderr: string,
  { podman }: PodmanPaths,
): BerthError {
  if (error.name === 'AbortError')
    return new BerthError(`${attempted}: not completed within the time limit`, {
      code: 'deadline-exceeded',
      hint: 'Allow more time with --timeout. Incomplete layers are removed.',
    });
  if (error.code === 'ENOENT' || error.code === 127)
    return new BerthError(`${attempted}: could not run ${podman}`, {
      code: 'podman-missing',
      hint: 'Install podman and util-linux, or correct podman.podman in ssh.yml.',
      cause: error,
    });
  const reason = lastError(stderr) ?? error.message;
  const match = known.find(({ pattern }) => pattern.test(stderr));
  return new BerthError(`${attempted}: ${reason}`, {
    code: match?.code ?? 'podman-failed',
    hint: match?.hint ?? "This is podman's own message; see podman-pull(1).",
    cause: error,
  });
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
