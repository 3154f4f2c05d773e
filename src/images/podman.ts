import type { ExecFileException } from 'node:child_process';
import type { PodmanPaths } from '../config/profile/profile.ts';
import { BerthError, type ErrorCode, type ExitClass } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { storeCall, type WorkStore } from './wanted-images.ts';
import { runProgram } from '../system/run-program.ts';

export interface PodmanOptions {
  /** The environment of `berth`; little of it is handed on. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends podman, at the deadline. */
  readonly signal: AbortSignal;
}

/**
 * Runs podman on the store and gives its standard output.
 *
 * @param attempted for the error: `image registry.example/site:1`
 * @throws `podman-missing`, `deadline`, `image-digest-wrong`, `image-unknown`, `registry-denied`,
 *   `registry-unreachable`, `registry-certificate`, `image-store-full`, `image-short-name`,
 *   `image-policy`, `archive-unreadable`, `podman-failed`
 */
export async function podmanOnStore(
  podman: PodmanPaths,
  store: WorkStore,
  words: readonly string[],
  attempted: string,
  { env, signal }: PodmanOptions,
): Promise<string> {
  const call = storeCall(podman, store, words, env);
  const options = { env: { ...call.env }, cwd: '/', signal, maxBuffer: 16 * 1024 * 1024 };
  const { error, stdout, stderr } = await runProgram(call.file, call.args.slice(1), options);
  if (error !== undefined) throw podmanError(attempted, error, stderr, podman);
  return stdout;
}

interface Known {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  readonly exit: ExitClass;
  readonly hint: string;
}

/** In the words of podman 4 and 5; the first that fits counts. */
const known: readonly Known[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    code: 'image-store-full',
    exit: 'io',
    hint: 'See df and df -i of the storage folder; `berth images gc --dry-run` shows what could go. The store is as it was.',
  },
  {
    pattern:
      /does not match (?:provided manifest )?digest|digest (?:mismatch|does not match)|didn't match digest|manifest digest .* does not|does not match expected|unexpected (?:digest|manifest)/i,
    code: 'image-digest-wrong',
    exit: 'unavailable',
    hint: 'The registry gave something else than the profile names. Do not take the digest over before you know why.',
  },
  {
    pattern: /does not match any of the supported image formats/i,
    code: 'archive-unreadable',
    exit: 'unavailable',
    hint: 'An archive is what `podman save`, `docker save` or `skopeo copy` makes; is it whole? Device nodes in the image (below /dev) cannot be stored: build it with an empty /dev.',
  },
  {
    pattern: /unauthorized|authentication required|access.*denied|invalid username\/password/i,
    code: 'registry-denied',
    exit: 'permission',
    hint: 'Is the registry in the file of --auth-file (or registry_auth of ssh.yml), with a password that is still good?',
  },
  {
    pattern: /manifest unknown|name unknown|not found: manifest|repository name not known/i,
    code: 'image-unknown',
    exit: 'unavailable',
    hint: 'Correct the name or the digest in the profile, or push the image.',
  },
  {
    pattern: /x509:|certificate|server gave HTTP response to HTTPS client/i,
    code: 'registry-certificate',
    exit: 'config',
    hint: 'Put the CA into /etc/containers/certs.d/HOST:PORT/ca.crt (containers-certs.d(5)).',
  },
  {
    pattern:
      /connection refused|i\/o timeout|no such host|no route to host|connection reset|EOF|timeout/i,
    code: 'registry-unreachable',
    exit: 'temporary',
    hint: 'Sessions go on with what is in the store. Try again when the registry answers, or bring the image as a file: berth images pull --from-archive FILE.',
  },
  {
    pattern: /short-name|unqualified-search/i,
    code: 'image-short-name',
    exit: 'config',
    hint: 'Write the image with its registry: registry.example/site/base:1.',
  },
  {
    pattern: /rejected by policy|signature was required/i,
    code: 'image-policy',
    exit: 'config',
    hint: '/etc/containers/policy.json does not let this image in.',
  },
];

function podmanError(
  attempted: string,
  error: ExecFileException,
  stderr: string,
  { podman }: PodmanPaths,
): BerthError {
  if (error.name === 'AbortError')
    return new BerthError(`${attempted}: not done within the time given`, {
      code: 'deadline',
      exit: 'temporary',
      hint: 'Give more with --timeout; what is half there is removed.',
    });
  if (error.code === 'ENOENT' || error.code === 127)
    return new BerthError(`${attempted}: ${podman} cannot be run`, {
      code: 'podman-missing',
      exit: 'config',
      hint: 'Install podman and util-linux, or correct podman.podman in ssh.yml.',
      cause: error,
    });
  const said = lastError(stderr) ?? error.message;
  const match = known.find(({ pattern }) => pattern.test(stderr));
  return new BerthError(`${attempted}: ${said}`, {
    code: match?.code ?? 'podman-failed',
    exit: match?.exit ?? 'unavailable',
    hint: match?.hint ?? 'The message is podman’s own.',
    cause: error,
  });
}

/** Podman retries and says so each time; the last word is why it gave up. */
function lastError(stderr: string): string | undefined {
  const at = `\n${stderr}`.lastIndexOf('\nError: ');
  if (at < 0) return undefined;
  // Behind a line that ends in a colon podman lists what went wrong with each format.
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
