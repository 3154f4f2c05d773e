import { chmod, copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeAccounts } from './accounts.ts';
import { CertificateAuthority } from './certificates.ts';
import { homesDirectory, publicDirectory, siteDirectory } from './directories.ts';
import { send } from './https.ts';
import { kubernetesBinaries } from './kubernetes/build.ts';
import {
  controlPlanePorts,
  serviceAddress,
  startControlPlane,
} from './kubernetes/control-plane.ts';
import { newestMinor, requestedMinor } from './kubernetes/versions.ts';
import { stopNode } from './kubernetes-node/stop.ts';
import { keycloakInstallation } from './keycloak/install.ts';
import { Realm } from './keycloak/realm.ts';
import { issuerAt, startKeycloak } from './keycloak/server.ts';
import { withLock } from './lock.ts';
import { ensureCommand, ensurePackages } from './debian-packages.ts';
import { freePorts } from '../free-ports.ts';
import { isRunning, stopAll, type StartedProcess } from './processes.ts';
import { say, step } from './progress.ts';
import {
  ProcessJournal,
  readProcesses,
  readRecord,
  writeRecord,
  type SiteRecord,
} from './site-record.ts';
import { waitFor } from '../wait-for.ts';

/** Increase it when a site that an older harness started must not be reused. */
const recordVersion = '4';

/** The first users of the realm; their passwords are `NAME-password`. */
const initialUsers = ['alice', 'bob', 'carol'] as const;

export interface StartOptions {
  /** False if an existing cluster is used instead of a local one. */
  readonly cluster: boolean;
}

/** Returns the running site if it is healthy, and otherwise starts a new one. */
export async function startSite(options: StartOptions): Promise<SiteRecord> {
  return withSiteLocked(async () => {
    const running = await readRecord();
    if (running !== undefined) {
      const problem = await problemOf(running, options);
      if (problem === undefined) return running;
      say(`starting the site again: ${problem}`);
    }
    await stop();
    try {
      return await start(options);
    } catch (error) {
      await step('stopping what was started', () => stopProcesses());
      throw error;
    }
  });
}

/** Ends the site's processes and removes its accounts and directories; the cache is kept. */
export async function stopSite(): Promise<void> {
  await withSiteLocked(stop);
}

/** Runs `work` while no other process starts, stops or checks the site. */
export function withSiteLocked<T>(work: () => Promise<T>): Promise<T> {
  const waiting = (): void => say('waiting for another process that starts or stops the site');
  return withLock(`${siteDirectory}.lock`, waiting, work);
}

async function stop(): Promise<void> {
  await stopNode();
  await stopProcesses();
  await removeAccounts();
  await rm(siteDirectory, { recursive: true, force: true });
  await rm(publicDirectory, { recursive: true, force: true });
}

async function stopProcesses(): Promise<void> {
  await stopAll((await readProcesses()).toReversed());
}

/** Why a recorded site cannot be used, or undefined if all of it is healthy. */
async function problemOf(
  record: SiteRecord,
  { cluster }: StartOptions,
): Promise<string | undefined> {
  if (record.version !== recordVersion) return 'it was started by another version of the harness';
  if (cluster && record.kubernetes === undefined) return 'it has no cluster';
  const { kubernetesMinor: minor } = record;
  if ((requestedMinor() ?? minor) !== minor) return `it has Kubernetes ${minor}`;
  for (const started of record.processes) {
    if (!(await isRunning(started))) return `${started.name} is not running`;
  }
  const ca = await CertificateAuthority.open(record.certificates).pem();
  const probes = [record.keycloak.issuer];
  if (record.kubernetes !== undefined) probes.push(`${record.kubernetes.server}/readyz`);
  const answers = await Promise.all(
    probes.map(async (url) => ({ url, answer: await send(url, { ca }).catch(() => undefined) })),
  );
  const unhealthy = answers.find(({ answer }) => answer?.status !== 200);
  return unhealthy === undefined ? undefined : `${unhealthy.url} does not answer 200`;
}

async function start({ cluster }: StartOptions): Promise<SiteRecord> {
  await ensureTools();
  const kubernetesMinor = requestedMinor() ?? newestMinor;
  const binaries = await kubernetesBinaries(kubernetesMinor);
  const installation = await keycloakInstallation();

  await mkdir(siteDirectory, { recursive: true, mode: 0o700 });
  await mkdir(homesDirectory, { recursive: true, mode: 0o755 });
  const certificates = join(siteDirectory, 'certificates');
  const ca = await CertificateAuthority.create(certificates);
  const serverCertificate = await ca.server('berth-test-site', [serviceAddress]);
  const shared = { ca: join(publicDirectory, 'ca.pem'), kubectl: join(publicDirectory, 'kubectl') };
  await copyFile(ca.cert, shared.ca);
  await copyFile(binaries.kubectl, shared.kubectl);
  await chmod(shared.kubectl, 0o755);

  const ports = await freePorts([...controlPlanePorts, 'keycloak', 'provider']);
  const keycloak = { issuer: issuerAt(ports.keycloak) };
  const provider = { issuer: `https://127.0.0.1:${ports.provider}`, port: ports.provider };
  const journal = new ProcessJournal();
  const common = {
    ca,
    serverCertificate,
    onStart: (started: StartedProcess) => journal.add(started),
  };
  const [kubernetes] = await Promise.all([
    cluster
      ? startControlPlane({
          ...common,
          binary: binaries.kubernetes,
          directory: join(siteDirectory, 'kubernetes'),
          ports,
          issuers: [keycloak.issuer, provider.issuer],
        })
      : undefined,
    startKeycloak({
      ...common,
      installation,
      directory: join(siteDirectory, 'keycloak'),
      port: ports.keycloak,
    }),
  ]);
  const realm = new Realm(keycloak.issuer, await ca.pem());
  for (const user of initialUsers) await realm.addUser(user);
  if (kubernetes !== undefined) {
    const pem = await ca.pem();
    await step('the API server to accept tokens of Keycloak', () =>
      tokensAccepted(kubernetes.server, realm, pem),
    );
  }

  const record: SiteRecord = {
    version: recordVersion,
    startedAt: new Date().toISOString(),
    ...shared,
    certificates,
    serverCertificate,
    kubernetesMinor,
    ...(kubernetes === undefined ? {} : { kubernetes }),
    keycloak,
    provider,
    processes: journal.processes,
  };
  await writeRecord(record);
  return record;
}

/**
 * Waits until the API server accepts a token of Keycloak. If the API server asked for the issuer's keys
 * before Keycloak answered, it retries after ten seconds, and answers Unauthorized until then.
 */
async function tokensAccepted(server: string, realm: Realm, ca: string): Promise<void> {
  const login = await realm.login(initialUsers[0]);
  const { accessToken } = await realm.exchange(login.accessToken);
  await waitFor({ what: `${server} to accept a token`, timeoutMs: 60_000 }, async () => {
    const headers = { authorization: `Bearer ${accessToken}` };
    const { status, text } = await send(`${server}/version`, { ca, headers });
    if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
    return true;
  });
}

async function ensureTools(): Promise<void> {
  await ensurePackages(['openssl', 'util-linux', 'passwd']);
  await ensureCommand('go', 'golang');
  await ensureCommand('java', 'openjdk-17-jre-headless');
  await ensureCommand('mvn', 'maven');
}
