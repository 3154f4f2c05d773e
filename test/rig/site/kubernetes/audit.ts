import { randomUUID } from 'node:crypto';
import { open, stat, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { waitFor } from '../../wait-for.ts';

/** The fields of an audit.k8s.io/v1 Event, stage ResponseComplete, that tests read. */
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

/** An offset in the audit log. */
export type AuditMark = number & { readonly brand: unique symbol };

export interface AuditFilter {
  /** Only requests of this user, for example `oidc:alice`. */
  readonly user?: string;
}

/**
 * Writes an audit policy that logs the metadata of every finished request, except those of the control plane
 * and the node.
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

/** Reads the API server's audit log. */
export class AuditLog {
  readonly file: string;
  readonly #request: (path: string) => Promise<unknown>;

  /**
   * @param file path of the log, one JSON event per line
   * @param request sends a request for a path to the API server, whatever the answer
   */
  constructor(file: string, touch: (path: string) => Promise<unknown>) {
    this.file = file;
    this.#request = touch;
  }

  /** The current end of the log, after all earlier requests have been logged. */
  async mark(): Promise<AuditMark> {
    await this.#waitForSentinel();
    return (await stat(this.file)).size as AuditMark;
  }

  /** The events of requests answered since the mark, in the order of the answers. */
  async since(mark: AuditMark, filter: AuditFilter = {}): Promise<AuditEvent[]> {
    const sentinel = await this.#waitForSentinel();
    const events = await this.#read(mark);
    return events.filter(
      (event) =>
        !event.requestURI.includes(sentinel) &&
        (filter.user === undefined || event.user.username === filter.user),
    );
  }

  /**
   * An event may be written a moment after the client has got the answer. So this sends a request with a
   * unique path and waits for its event, which follows the events of all requests answered before.
   */
  async #waitForSentinel(): Promise<string> {
    const sentinel = `/berth-audit-sentinel/${randomUUID()}`;
    const before = (await stat(this.file)).size;
    await this.#request(sentinel);
    await waitFor(
      { what: `the audit log ${this.file} to catch up`, timeoutMs: 60_000, everyMs: 5 },
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
