import { BerthError, type ErrorCode, type ErrorDetails } from './errors/berth-error.ts';
import { programPath } from './program/installed-path.ts';
import { runBounded } from './run-bounded.ts';

export interface ReadingRequest {
  /** A name in `hooks/read-foreign-text.ts`. */
  readonly reader: string;
  readonly args: readonly unknown[];
}

export interface ReadingAnswer {
  readonly value?: unknown;
  readonly error?: ErrorDetails & {
    readonly code: ErrorCode;
    readonly message: string;
    readonly cause?: string;
  };
}

/** Of processor time. The largest kubeconfig within `excessOfYaml` takes 2.5 s. */
const mostSeconds = 4;

/** The kernel counts the processor's time; this is for a host that has none to give. Milliseconds. */
const longestMs = 9_000;

/** The sandbox of a unit may forbid it (`SystemCallFilter=~@resources`); the limit of the clock is left then. */
const limited = `ulimit -c 0; ulimit -t ${mostSeconds}; exec "$@"`;

/** For the objects of a parser. MiB. */
const mostMemory = 256;

/** Longer than an answer in which every character of the largest file is escaped. */
const longestAnswer = 128 * 1024 * 1024;

/**
 * Reads a text that a user or a tenant wrote in another process, which gets 4 s of processor time: whatever holds the parser
 * up, root's event loop with its deadline goes on. It costs the start of a Node process, 60 ms, so short and plain texts
 * (`isPlainYaml`) can do without.
 *
 * @param reader the function's name in `hooks/read-foreign-text.ts`; its type is the type argument
 * @param tooLarge the error if the process needs more time or memory
 * @param timeoutMs milliseconds, whatever processor time it got
 * @throws {BerthError} what the reader throws; `tooLarge`; `internal-error` if the process does not work
 */
export async function inReadingProcess<Reader extends (...args: never[]) => unknown>(
  reader: string,
  args: Parameters<Reader>,
  tooLarge: (why: string) => BerthError,
  timeoutMs = longestMs,
): Promise<Awaited<ReturnType<Reader>>> {
  const node = [process.execPath, '--v8-pool-size=0', `--max-old-space-size=${mostMemory}`];
  const { ended, stdout, stderr } = await runBounded(
    '/bin/sh',
    ['-c', limited, 'sh', ...node, programPath('hooks/read-foreign-text')],
    {
      env: {},
      timeoutMs,
      input: JSON.stringify({ reader, args } satisfies ReadingRequest),
      keptLength: longestAnswer,
    },
  );
  if (ended === 'late') throw tooLarge(`took more than ${(timeoutMs / 1000).toFixed(1)} s to read`);
  if (ended === 'SIGKILL') throw tooLarge(`took more than ${mostSeconds} s to read`);
  if (ended === 'SIGABRT' || ended === 'SIGTRAP')
    throw tooLarge(`took more than ${mostMemory} MiB of memory to read`);
  if (ended !== 0) throw new Error(`hooks/read-foreign-text ended with ${ended}: ${stderr}`);
  const { value, error } = JSON.parse(stdout) as ReadingAnswer;
  if (error === undefined) return value as Awaited<ReturnType<Reader>>;
  const { code, message, cause, ...details } = error;
  throw new BerthError(code, message, {
    ...details,
    ...(cause !== undefined && { cause: new Error(cause) }),
  });
}
