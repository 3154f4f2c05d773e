import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { siteFolder } from './folders.ts';
import type { ControlPlane } from './kubernetes/control-plane.ts';
import type { KubernetesMinor } from './kubernetes/versions.ts';
import type { StartedProcess } from './processes.ts';

/** What `site.json` holds: a running site, for tests and for people. */
export interface SiteRecord {
  /** Differs when the harness would start another site than the one that runs. */
  readonly version: string;
  readonly startedAt: string;
  /** Path of the CA certificate that all servers of the site have theirs from; anybody can read it. */
  readonly ca: string;
  /** Folder of the CA's key and of all certificates. */
  readonly certificates: string;
  /** Certificate and key for servers that tests start on 127.0.0.1. */
  readonly serverCertificate: { readonly cert: string; readonly key: string };
  /** The real kubectl; anybody can run it. */
  readonly kubectl: string;
  /** Of the binaries, kubectl and kubelet among them. */
  readonly kubernetesMinor: KubernetesMinor;
  /** The local cluster; absent when an existing one is used. */
  readonly kubernetes?: ControlPlane;
  readonly keycloak: { readonly issuer: string };
  /** The API server believes tokens of this issuer too; tests start it, see provider.ts. */
  readonly provider: { readonly issuer: string; readonly port: number };
  /** In the order of their start. */
  readonly processes: readonly StartedProcess[];
}

export const recordFile = join(siteFolder, 'site.json');
const processesFile = join(siteFolder, 'processes.json');

/** The site that was started last, as far as its start came to its end. */
export async function readRecord(): Promise<SiteRecord | undefined> {
  return (await readJson(recordFile)) as SiteRecord | undefined;
}

export async function writeRecord(record: SiteRecord): Promise<void> {
  await writeJson(recordFile, record);
}

/** Processes of the last start, also of one that failed half-way. */
export async function readProcesses(): Promise<readonly StartedProcess[]> {
  return ((await readJson(processesFile)) ?? []) as readonly StartedProcess[];
}

/** Another process takes the place of one that was ended. */
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

  /** Resolves when the process is on disk, so that a later `site:down` ends it. */
  add(started: StartedProcess): Promise<void> {
    this.processes.push(started);
    this.#written = this.#written.then(() => writeJson(processesFile, this.processes));
    return this.#written;
  }
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

/** Whole or not at all: another process may be reading. */
async function writeJson(file: string, value: unknown): Promise<void> {
  const unfinished = `${file}.new`;
  await writeFile(unfinished, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, file);
}
