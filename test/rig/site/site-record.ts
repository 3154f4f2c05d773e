import { join } from 'node:path';
import { siteDirectory } from './directories.ts';
import { readJson, writeJson } from './json-file.ts';
import type { ControlPlane } from './kubernetes/control-plane.ts';
import type { KubernetesMinor } from './kubernetes/versions.ts';
import type { StartedProcess } from './processes.ts';

/** The content of `site.json`: describes the running site. */
export interface SiteRecord {
  /** Version of the harness that started the site; another version starts it anew. */
  readonly version: string;
  readonly startedAt: string;
  /** Path of the CA certificate of all servers of the site; world-readable. */
  readonly ca: string;
  /** Directory of the CA's key and of all certificates. */
  readonly certificates: string;
  /** Certificate and key for servers that tests start on 127.0.0.1. */
  readonly serverCertificate: { readonly cert: string; readonly key: string };
  /** Path of kubectl; every user can run it. */
  readonly kubectl: string;
  /** Version of the cluster, kubectl and kubelet. */
  readonly kubernetesMinor: KubernetesMinor;
  /** The local cluster; absent if an existing cluster is used. */
  readonly kubernetes?: ControlPlane;
  readonly keycloak: { readonly issuer: string };
  /** The second issuer that the API server accepts. Tests start it with `SiteOidcProvider`. */
  readonly provider: { readonly issuer: string; readonly port: number };
  /** The site's processes, in the order of their start. */
  readonly processes: readonly StartedProcess[];
}

export const recordFile = join(siteDirectory, 'site.json');
const processesFile = join(siteDirectory, 'processes.json');

/** The record of the site, or undefined if no site was started completely. */
export async function readRecord(): Promise<SiteRecord | undefined> {
  return (await readJson(recordFile)) as SiteRecord | undefined;
}

export async function writeRecord(record: SiteRecord): Promise<void> {
  await writeJson(recordFile, record);
}

/** The processes of the last start, also of one that failed. */
export async function readProcesses(): Promise<readonly StartedProcess[]> {
  return ((await readJson(processesFile)) ?? []) as readonly StartedProcess[];
}

/** Has the site end this process, too. */
export async function addProcess(started: StartedProcess): Promise<void> {
  await writeJson(processesFile, [...(await readProcesses()), started]);
}

/** Replaces a process in both files after a restart. */
export async function replaceProcess(old: StartedProcess, next: StartedProcess): Promise<void> {
  const instead = (processes: readonly StartedProcess[]): readonly StartedProcess[] =>
    processes.map((each) => (each.pid === old.pid ? next : each));
  await writeJson(processesFile, instead(await readProcesses()));
  const record = await readRecord();
  if (record !== undefined) await writeRecord({ ...record, processes: instead(record.processes) });
}

/** Keeps the list of processes on disk while parts are started side by side. */
export class ProcessJournal {
  readonly processes: StartedProcess[] = [];
  #written: Promise<void> = Promise.resolve();

  /** Resolves when the process is recorded, so that a later `site:down` ends it. */
  add(started: StartedProcess): Promise<void> {
    this.processes.push(started);
    this.#written = this.#written.then(() => writeJson(processesFile, this.processes));
    return this.#written;
  }
}
