import { randomBytes } from 'node:crypto';
import { BerthError, type ErrorDetails } from '../../../errors.ts';
import { escapeControl } from '../../../log.ts';
import type { ApiServer } from '../../../reconcile/api-server.ts';
import { addressOf, tlsOptions } from '../../../reconcile/tls-options.ts';
import type { ExecProtocol } from './protocol/channels.ts';
import { agreedProtocol, upgradeRequest, type ExecTarget } from './protocol/upgrade.ts';
import { openUpgrade, type StreamSocket, type UpgradeAnswer } from './websocket.ts';

/** A container of a pod, and the way to it. */
export interface PodPlace {
  readonly server: ApiServer;
  readonly pod: Pick<ExecTarget, 'namespace' | 'pod' | 'container' | 'connection'>;
}

/** What is said of a pod that is not there, or not yet. */
export const notYet = ['exec-no-pod', 'exec-refused', 'exec-server-error'];

export interface OpenExec {
  readonly server: ApiServer;
  readonly target: ExecTarget;
  readonly signal?: AbortSignal;
  /** What is offered to the server, by preference; all that we know where absent. */
  readonly protocols?: readonly ExecProtocol[];
  /** Until the stream stands, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface OpenedExec {
  readonly socket: StreamSocket;
  readonly protocol: ExecProtocol;
}

/** The API server answers at once; one that hands v4 on asks the node first. */
const patience = 30_000;

/**
 * Opens the stream of a remote command: the command may run from here on.
 *
 * @throws {BerthError} `exec-unreachable`, `exec-certificate`, `exec-unauthorized`, `exec-forbidden`,
 *   `exec-no-pod`, `exec-refused`, `exec-server-error`, `exec-protocol`, `exec-not-utf8`
 */
export async function openExec(input: OpenExec): Promise<OpenedExec> {
  const { server, target, signal, protocols } = input;
  const url = new URL(server.url);
  const key = randomBytes(16).toString('base64');
  const offer = protocols === undefined ? { key } : { key, offered: protocols };
  const request = upgradeRequest({
    url,
    target,
    ...offer,
    ...(server.token === undefined ? {} : { token: server.token }),
  });
  const address = addressOf(url);
  const answer = await connected(url, {
    ...address,
    tls: tlsOptions(address.host, server),
    request,
    timeoutMs: input.timeoutMs ?? patience,
    ...(signal === undefined ? {} : { signal }),
  });
  if ('refusal' in answer) throw refusal(target, answer.head.status, answer.refusal);
  try {
    return { socket: answer.socket, protocol: agreedProtocol(answer.head.headers, offer) };
  } catch (thrown) {
    answer.socket.destroy();
    throw thrown;
  }
}

async function connected(
  url: URL,
  call: Parameters<typeof openUpgrade>[0],
): Promise<UpgradeAnswer> {
  try {
    return await openUpgrade(call);
  } catch (thrown) {
    throw unreachable(url, thrown);
  }
}

function unreachable({ host }: URL, thrown: unknown): BerthError {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const reason = escapeControl(thrown instanceof Error ? thrown.message : String(thrown));
  if (/CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/.test(code))
    return new BerthError(`connecting to ${host}: its certificate is not accepted: ${reason}`, {
      code: 'exec-certificate',
      exit: 'config',
      hint: 'Compare the CA of this cluster in the configuration with what signed the certificate of the API server.',
      cause: thrown,
    });
  return new BerthError(`connecting to ${host}: ${reason}`, {
    code: 'exec-unreachable',
    exit: 'temporary',
    hint: 'See whether the API server runs and this host may reach it.',
    cause: thrown,
  });
}

type Meaning = Pick<ErrorDetails, 'code' | 'exit' | 'hint' | 'forUser'>;

const meanings: Readonly<Record<number, Meaning>> = {
  401: {
    code: 'exec-unauthorized',
    exit: 'permission',
    hint: 'The credential of this session is over: log in anew.',
    forUser: true,
  },
  403: {
    code: 'exec-forbidden',
    exit: 'permission',
    hint: 'See that the role of the session allows create and get of pods/exec, and what the admission policies say.',
  },
  404: {
    code: 'exec-no-pod',
    exit: 'temporary',
    hint: 'The pod is gone: the next login makes one anew.',
    forUser: true,
  },
};

const refused: Meaning = {
  code: 'exec-refused',
  exit: 'unavailable',
  hint: "See the pod's state and events: kubectl describe pod.",
};

const serverFault: Meaning = {
  code: 'exec-server-error',
  exit: 'temporary',
  hint: "See the API server's own log at this time; the next login tries again.",
};

function refusal({ namespace, pod }: ExecTarget, status: number, body: string): BerthError {
  const meaning = meanings[status] ?? (status >= 500 || status === 429 ? serverFault : refused);
  const said = escapeControl(messageOf(body).slice(0, 500));
  return new BerthError(
    `exec in pod ${namespace}/${pod}: the API server answered ${status}: ${said}`,
    {
      ...meaning,
      fields: { status },
    },
  );
}

/** A Status says what is wrong; what stands before an API server may say it as a page. */
function messageOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed)
      return String(parsed.message);
  } catch {
    // Not JSON: as it is.
  }
  return body.trim() === '' ? 'no message' : body.trim();
}
