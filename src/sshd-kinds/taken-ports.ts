import { BerthError } from '../errors/berth-error.ts';
import { parseSshdConfigFiles } from '../sshd-lint/sshd-effective.ts';
import {
  listeningTcpSockets,
  socketHolders,
  type ListeningSocket,
} from '../system/tcp-listeners.ts';
import { executablePath } from '../system/processes.ts';
import { hostConfig, kindFile, kindNames } from './kind.ts';
import { collides, endpointsOf, endpointText, type SshdEndpoint } from './rules/sshd-endpoints.ts';
import { runningSshds } from './running-sshds.ts';

/**
 * Refuses endpoints that another sshd's configuration names, or on which a program listens that is not the sshd of
 * this kind.
 *
 * @param own path of the kind's configuration
 * @throws {BerthError} `port-taken`, `config-unreadable`
 */
export async function assertFreePorts(wanted: readonly SshdEndpoint[], own: string): Promise<void> {
  for (const file of [hostConfig, ...kindNames().map(kindFile)]) {
    if (file === own) continue;
    const other = (await declaredEndpoints(file)).find((one) =>
      wanted.some((endpoint) => collides(endpoint, one)),
    );
    if (other !== undefined) throw taken(other, `${file} names it`);
  }
  const ours = new Set(runningSshds().flatMap(({ pid, config }) => (config === own ? pid : [])));
  for (const socket of listeningTcpSockets()) {
    if (!wanted.some((endpoint) => collides(endpoint, socket))) continue;
    const holders = socketHolders(socket.inode);
    if (holders.some((pid) => ours.has(pid))) continue;
    throw taken(socket, `${holderText(socket, holders)} listens on it`);
  }
}

/** Where the sshd of a configuration listens; nowhere if there is no such file. */
export async function declaredEndpoints(file: string): Promise<SshdEndpoint[]> {
  try {
    const { directives } = await parseSshdConfigFiles(file);
    return endpointsOf(directives);
  } catch (error) {
    if (error instanceof BerthError && error.code === 'config-missing') return [];
    throw error;
  }
}

function holderText({ address }: ListeningSocket, [pid]: readonly number[]): string {
  const program = pid === undefined ? undefined : executablePath(pid);
  const name = program === undefined ? 'another program' : `${program} (PID ${pid ?? 0})`;
  return address === '0.0.0.0' || address === '::' ? name : `${name} at ${address}`;
}

function taken(endpoint: SshdEndpoint, why: string): BerthError {
  return new BerthError(`port ${endpoint.port} is taken (${endpointText(endpoint)}): ${why}`, {
    code: 'port-taken',
    fields: { port: endpoint.port },
  });
}
