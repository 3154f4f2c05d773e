import { randomUUID } from 'node:crypto';
import { open, stat, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { waitFor } from '../wait.ts';

/** What a test reads of an audit.k8s.io/v1 Event, stage ResponseComplete. */
export interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: {
    readonly username: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly impersonatedUser?: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A place in the audit log; what is written later comes after it. */
export type AuditMark = number & { readonly brand: unique symbol };

export interface AuditFilter {
  /** Only requests of this user, as the API server names it, e.g. `oidc:alice`. */
  readonly user?: string;
}

/**
 * Writes the policy: metadata of every finished request, without the control plane's own traffic
 * and the node's, so
 * that what a test reads was caused by somebody.
 */
export async function writeAuditPolicy(file: string): Promise<void> {
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
    rules: [
      {
        level: 'None',
        users: ['system:apiserver', 'system:kube-controller-manager', 'system:kube-scheduler'],
      },
      { level: 'None', userGroups: ['system:nodes'] },
      { level: 'None', nonResourceURLs: ['/readyz*', '/healthz*'] },
      { level: 'Metadata' },
    ],
  };
  await writeFile(file, stringify(policy));
}

/** The API server's audit log, read by tests. */
export class AuditLog {
  readonly file: string;
  readonly #touch: (path: string) => Promise<unknown>;

  /**
   * @param file path of the log, one JSON event per line
   * @param touch makes one API request for a path, whatever the answer
   */
  constructor(file: string, touch: (path: string) => Promise<unknown>) {
    this.file = file;
    this.#touch = touch;
  }

  /** The log's present end, with everything before it already written. */
  async mark(): Promise<AuditMark> {
    await this.#settle();
    return (await stat(this.file)).size as AuditMark;
  }

  /** Events of requests that were answered since the mark, in the order of their answers. */
  async since(mark: AuditMark, filter: AuditFilter = {}): Promise<AuditEvent[]> {
    const sentinel = await this.#settle();
    const events = await this.#read(mark);
    return events.filter(
      (event) =>
        !event.requestURI.includes(sentinel) &&
        (filter.user === undefined || event.user.username === filter.user),
    );
  }

  /**
   * The event of a request is written when its handler returns, which may be a moment after the client
   * had the answer. A request of our own, awaited in the log, comes after all that were answered before.
   */
  async #settle(): Promise<string> {
    const sentinel = `/berth-audit-sentinel/${randomUUID()}`;
    const before = (await stat(this.file)).size;
    await this.#touch(sentinel);
    await waitFor(
      { what: `the audit log ${this.file} to catch up`, timeoutMs: 10_000, everyMs: 5 },
      async () =>
        (await this.#read(before)).some(({ requestURI }) => requestURI === sentinel) || undefined,
    );
    return sentinel;
  }

  async #read(from: number): Promise<AuditEvent[]> {
    const file = await open(this.file, 'r');
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.max(0, size - from));
      await file.read(bytes, 0, bytes.length, from);
      const complete = bytes.subarray(0, bytes.lastIndexOf('\n') + 1).toString('utf8');
      return complete
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as AuditEvent);
    } finally {
      await file.close();
    }
  }
}
