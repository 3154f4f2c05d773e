import { chmod, copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeAccounts } from './accounts.ts';
import { CertificateAuthority } from './certificates.ts';
import { homesFolder, publicFolder, siteFolder } from './folders.ts';
import { send } from './https.ts';
import { kubernetesBinaries } from './kubernetes/build.ts';
import {
  controlPlanePorts,
  serviceAddress,
  startControlPlane,
} from './kubernetes/control-plane.ts';
import { newestMinor, wantedMinor } from './kubernetes/versions.ts';
import { stopNode } from './node/stop.ts';
import { keycloakInstallation } from './keycloak/install.ts';
import { Realm } from './keycloak/realm.ts';
import { issuerAt, startKeycloak } from './keycloak/server.ts';
import { withLock } from './lock.ts';
import { ensureCommand, ensurePackages } from './packages.ts';
import { freePorts } from './ports.ts';
import { isRunning, stopAll, type StartedProcess } from './processes.ts';
import { say, step } from './progress.ts';
import {
  ProcessJournal,
  readProcesses,
  readRecord,
  writeRecord,
  type SiteRecord,
} from './record.ts';
import { waitFor } from './wait.ts';

/** Raised when a running site of an older harness must not be reused. */
const recordVersion = '4';

/** Users that the realm has from the start; the password is `NAME-password`. */
const initialUsers = ['alice', 'bob', 'carol'] as const;

export interface StartOptions {
  /** False when an existing cluster is used instead of a local one. */
  readonly cluster: boolean;
}

/** The running site, healthy; started when there is none, and started anew when it is not healthy. */
export async function startSite(options: StartOptions): Promise<SiteRecord> {
  return withSiteLocked(async () => {
    const running = await readRecord();
    if (running !== undefined) {
      const complaint = await complaintAbout(running, options);
      if (complaint === undefined) return running;
      say(`the site is started anew: ${complaint}`);
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

/** Ends the site's processes, removes its accounts and its folder; what was built stays. */
export async function stopSite(): Promise<void> {
  await withSiteLocked(stop);
}

/** Nobody starts or stops the site meanwhile, nor asks whether all of it runs. */
export function withSiteLocked<T>(work: () => Promise<T>): Promise<T> {
  const waiting = (): void => say('waiting for another start or stop of the site');
  return withLock(`${siteFolder}.lock`, waiting, work);
}

async function stop(): Promise<void> {
  await stopNode();
  await stopProcesses();
  await removeAccounts();
  await rm(siteFolder, { recursive: true, force: true });
  await rm(publicFolder, { recursive: true, force: true });
}

async function stopProcesses(): Promise<void> {
  await stopAll((await readProcesses()).toReversed());
}

/** Why a recorded site cannot be used, or undefined when all of it answers. */
async function complaintAbout(
  record: SiteRecord,
  { cluster }: StartOptions,
): Promise<string | undefined> {
  if (record.version !== recordVersion) return 'it is of another version of the harness';
  if (cluster && record.kubernetes === undefined) return 'it has no cluster';
  const { kubernetesMinor: minor } = record;
  if ((wantedMinor() ?? minor) !== minor) return `it has Kubernetes ${minor}`;
  for (const started of record.processes) {
    if (!(await isRunning(started))) return `${started.name} does not run`;
  }
  const ca = await CertificateAuthority.open(record.certificates).pem();
  const probes = [record.keycloak.issuer];
  if (record.kubernetes !== undefined) probes.push(`${record.kubernetes.server}/readyz`);
  const answers = await Promise.all(
    probes.map(async (url) => ({ url, answer: await send(url, { ca }).catch(() => undefined) })),
  );
  const silent = answers.find(({ answer }) => answer?.status !== 200);
  return silent === undefined ? undefined : `no good answer from ${silent.url}`;
}

async function start({ cluster }: StartOptions): Promise<SiteRecord> {
  await ensureTools();
  const kubernetesMinor = wantedMinor() ?? newestMinor;
  const binaries = await kubernetesBinaries(kubernetesMinor);
  const installation = await keycloakInstallation();

  await mkdir(siteFolder, { recursive: true, mode: 0o700 });
  await mkdir(homesFolder, { recursive: true, mode: 0o755 });
  const certificates = join(siteFolder, 'certificates');
  const ca = await CertificateAuthority.create(certificates);
  const serverCertificate = await ca.server('berth-test-site', [serviceAddress]);
  const shared = { ca: join(publicFolder, 'ca.pem'), kubectl: join(publicFolder, 'kubectl') };
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
          folder: join(siteFolder, 'kubernetes'),
          ports,
          issuers: [keycloak.issuer, provider.issuer],
        })
      : undefined,
    startKeycloak({
      ...common,
      installation,
      folder: join(siteFolder, 'keycloak'),
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
 * Waits until a real token is accepted. An API server that asked for the issuer's keys before the
 * issuer answered asks again only after ten seconds, and says Unauthorized until then.
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
