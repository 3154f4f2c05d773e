import { BerthError } from '../errors.ts';

/** A request as it goes over the wire. */
export interface Exchange {
  readonly method: string;
  /** Path with query, complete. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Bytes; a longer answer is `api-answer-too-large`. */
  readonly largestBody: number;
}

/** What came back, whole. */
export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export interface Connection {
  /** Throws `api-connection-lost` where the answer ends early, `api-answer-too-large`. */
  roundTrip(exchange: Exchange): Promise<Answer>;
  close(): void;
}

/** The connection ended before the answer did. */
export function connectionLost(cause: unknown): BerthError {
  return new BerthError('the API server closed the connection before it had answered', {
    code: 'api-connection-lost',
    exit: 'temporary',
    hint: 'See whether the API server restarts; the next login tries again.',
    cause,
  });
}

export function answerTooLarge({ method, path, largestBody }: Exchange): BerthError {
  return new BerthError(`${method} ${path}: the answer is longer than ${largestBody} bytes`, {
    code: 'api-answer-too-large',
    exit: 'unavailable',
    hint: 'See what answers at this address, and how many RoleBindings the namespace holds.',
  });
}
