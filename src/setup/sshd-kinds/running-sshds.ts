import { lstatSync, readFileSync, statSync } from 'node:fs';
import { BerthError } from '../../system/errors/berth-error.ts';
import { parseSshdConfigFiles } from '../sshd-lint/sshd-effective.ts';
import { processStartedAt } from '../../system/process-start.ts';
import { systemdUnitOf } from '../../system/process-unit.ts';
import { executablePath, processArguments, runningProcesses } from '../../system/processes.ts';
import { hasSystemd, unitProperty } from '../../system/systemd-units.ts';
import {
  type ListeningSocket,
  listeningTcpSockets,
  socketHolders,
} from '../../system/listening-sockets.ts';
import { hostConfig, kindFile, kindNames } from './kind.ts';
import { collides, endpointsOf, endpointText, type SshdEndpoint } from './rules/sshd-endpoints.ts';

/** An sshd that accepts connections. */
export interface RunningSshd {
  readonly pid: number;
  /** The program that it runs; ` (deleted)` is appended if it was replaced since then. */
  readonly program: string;
  /** The file of its option `-f`; sshd's own default without it. */
  readonly config: string;
  /** The file of its option `-o PidFile=`, which it writes again when it is reloaded. */
  readonly pidFile?: string | undefined;
}

/** All listening sshds of root in this PID namespace, whose programs may be run. Other users' processes could claim to be one. */
export function runningSshds(): RunningSshd[] {
  return [...runningProcesses((uid) => uid === 0)]
    .filter(
      // By the kernel's own word, besides what /proc/PID/status says.
      ({ pid, pids }) =>
        pids.length === 1 && statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === 0,
    )
    .flatMap(({ pid }) => {
      const program = executablePath(pid) ?? '';
      if (!/\/sshd(?: \(deleted\))?$/.test(program)) return [];
      const args = listenerArguments(processArguments(pid));
      return args === undefined
        ? []
        : [
            {
              pid,
              program,
              config: configOf(args),
              pidFile: /(?:^| )-o ?pidfile=(\S+)/i.exec(args.join(' '))?.[1],
            },
          ];
    });
}

/**
 * The arguments of a listener. sshd rewrites them: `sshd: /usr/sbin/sshd -D -f FILE [listener] 0 of 10-100 startups`.
 * A process for one connection is `sshd: alice [priv]`.
 */
function listenerArguments(args: readonly string[]): readonly string[] | undefined {
  const [first = ''] = args;
  const rewritten = /^sshd: (.*?) \[listener\]/.exec(first)?.[1];
  if (rewritten !== undefined) return rewritten.split(' ');
  return /^(?:\/\S*\/)?sshd$/.test(first) ? args : undefined;
}

function configOf(args: readonly string[]): string {
  const at = args.findIndex((word) => word === '-f');
  if (at !== -1) return args[at + 1] ?? '';
  return args.find((word) => /^-f./.test(word))?.slice(2) ?? '/etc/ssh/sshd_config';
}

/**
 * Which files changed after a listening sshd read them: when it started, when systemd saw it reload, or when it wrote its
 * PidFile, as it does after each SIGHUP.
 *
 * @param files its configuration, host keys and certificates
 * @throws {BerthError} `systemctl-failed`
 */
export async function changedSinceRead(
  { pid, pidFile }: RunningSshd,
  files: readonly string[],
): Promise<string[]> {
  const started = processStartedAt(pid) ?? Date.now();
  const reloaded = Math.max(await unitChangedAt(sshdService(pid)), writtenAt(pidFile, pid));
  const readMs = Math.max(started, reloaded);
  return files.filter((file) => {
    const status = statSync(file, { throwIfNoEntry: false });
    // Start times are known to 10 ms only.
    return status !== undefined && status.ctimeMs > readMs + 20;
  });
}

/** When a file of root with this PID was written; 0 if there is none. */
function writtenAt(file: string | undefined, pid: number): number {
  if (file === undefined) return 0;
  const status = lstatSync(file, { throwIfNoEntry: false });
  const isOwn = status?.isFile() === true && status.uid === 0;
  return isOwn && readFileSync(file, 'latin1').trim() === String(pid) ? status.mtimeMs : 0;
}

/** The systemd service of an sshd: `ssh.service`, `berth-sshd@podman.service`. @returns undefined if it has none */
export function sshdService(pid: number): string | undefined {
  return hasSystemd() ? systemdUnitOf(pid) : undefined;
}

/** When a unit was last started or reloaded, in milliseconds since the epoch; 0 if that is unknown. */
async function unitChangedAt(unit: string | undefined): Promise<number> {
  if (unit === undefined) return 0;
  // CLOCK_MONOTONIC in microseconds, as process.hrtime() in nanoseconds.
  const us = Number(await unitProperty(unit, 'StateChangeTimestampMonotonic'));
  const uptimeMs = Number(process.hrtime.bigint() / 1_000_000n);
  return Date.now() - uptimeMs + us / 1000;
}

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
  return new BerthError(
    'port-taken',
    `port ${endpoint.port} is taken (${endpointText(endpoint)}): ${why}`,
    {
      fields: { port: endpoint.port },
    },
  );
}
