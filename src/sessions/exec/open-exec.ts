import { randomBytes } from 'node:crypto';
import {
  BerthError,
  codeOf,
  type ErrorCode,
  type ErrorDetails,
  messageOf,
} from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { addressOfUrl, type ApiServer, tlsOptions } from '../../kube/api-server.ts';
import { assertUpgraded, upgradeRequest, type ExecTarget } from './protocol/upgrade.ts';
import { openUpgrade, type UpgradedSocket, type UpgradeResult } from './websocket.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';

/** A container of a pod, and the API server through which it is reached. */
export interface PodTarget {
  readonly server: ApiServer;
  readonly pod: Pick<ExecTarget, 'namespace' | 'pod' | 'container' | 'connection'>;
}

/** Error codes for a pod that does not exist or does not run yet. */
export const podNotReadyCodes = ['exec-no-pod', 'exec-refused', 'exec-server-error'];

export interface OpenExecInput {
  readonly server: ApiServer;
  readonly target: ExecTarget;
  readonly signal?: AbortSignal;
  /** Time limit for opening the stream, in milliseconds. */
  readonly timeoutMs?: number;
}

/** The API server answers at once, or asks the node first. Milliseconds. */
const timeoutMs = 30_000;

/**
 * Opens the stream of a remote command. The command may be running when this returns.
 *
 * @throws {BerthError} `exec-unreachable`, `exec-certificate`, `exec-unauthorized`, `exec-forbidden`,
 *   `exec-no-pod`, `exec-refused`, `exec-server-error`, `exec-protocol`, `exec-not-utf8`
 */
export async function openExec(input: OpenExecInput): Promise<UpgradedSocket> {
  const { server, target, signal } = input;
  const url = new URL(server.url);
  const key = randomBytes(16).toString('base64');
  const request = upgradeRequest({
    url,
    target,
    key,
    token: server.token,
  });
  const address = addressOfUrl(url);
  const answer = await connected(url, {
    ...address,
    tls: tlsOptions(address.host, server),
    request,
    timeoutMs: input.timeoutMs ?? timeoutMs,
    signal,
  });
  if ('refusal' in answer) throw refusal(target, answer.head.status, answer.refusal);
  try {
    assertUpgraded(answer.head.headers, key);
    return answer.socket;
  } catch (thrown) {
    answer.socket.destroy();
    throw thrown;
  }
}

async function connected(
  url: URL,
  call: Parameters<typeof openUpgrade>[0],
): Promise<UpgradeResult> {
  try {
    return await openUpgrade(call);
  } catch (thrown) {
    throw unreachable(url, thrown);
  }
}

function unreachable({ host }: URL, thrown: unknown): BerthError {
  const code = codeOf(thrown);
  const reason = escapeControl(messageOf(thrown));
  if (/CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/.test(code))
    return new BerthError(
      'exec-certificate',
      `connecting to the API server ${host}: its certificate is not trusted: ${reason}`,
      { cause: thrown },
    );
  return new BerthError('exec-unreachable', `connecting to the API server ${host}: ${reason}`, {
    cause: thrown,
  });
}

type Meaning = Pick<ErrorDetails, 'hint' | 'forUser'> & { readonly code: ErrorCode };

const meanings: Readonly<Record<number, Meaning>> = {
  401: { code: 'exec-unauthorized', forUser: true },
  403: { code: 'exec-forbidden' },
  404: { code: 'exec-no-pod', forUser: true },
};

const refused = ({ namespace, pod }: ExecTarget): Meaning => ({
  code: 'exec-refused',
  hint: `Check the state and the events of the pod: \`kubectl describe pod -n ${namespace} ${pod}\`.`,
});

function refusal(target: ExecTarget, status: number, body: string): BerthError {
  const { namespace, pod } = target;
  const { code, ...meaning } =
    meanings[status] ??
    (status >= 500 || status === 429 ? { code: 'exec-server-error' } : refused(target));
  const said = escapeControl(messageIn(body).slice(0, 500));
  return new BerthError(
    code,
    `exec in pod ${namespace}/${pod}: the API server answered ${status}: ${said}`,
    { ...meaning, fields: { status } },
  );
}

/** The message of a Status; the whole text if it is not JSON, such as the error page of a proxy. */
function messageIn(body: string): string {
  const { message } = mappingOrEmpty(parsedJson(body));
  if (typeof message === 'string') return message;
  return body.trim() === '' ? 'no message' : body.trim();
}
