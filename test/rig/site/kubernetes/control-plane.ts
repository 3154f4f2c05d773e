import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signingKey, type CertificateAuthority, type KeyPair } from '../certificates.ts';
import { send } from '../https.ts';
import { assertRunning, startDetached, type StartedProcess } from '../processes.ts';
import { step } from '../progress.ts';
import { waitFor } from '../../wait-for.ts';
import { writeAuditPolicy } from './audit.ts';
import { writeAuthenticationConfiguration } from './authentication.ts';
import { writeKubeconfig } from './kubeconfig.ts';

/** URLs and paths of the running cluster. */
export interface ControlPlane {
  readonly server: string;
  readonly adminKubeconfig: string;
  /** The client certificate of the same admin. */
  readonly adminCertificate: KeyPair;
  readonly auditLog: string;
  /** The API server reads this file again when it changes. */
  readonly authenticationConfiguration: string;
}

export interface ControlPlaneOptions {
  /** The binary with etcd and the control plane. */
  readonly binary: string;
  /** Directory for data, logs and configuration. */
  readonly directory: string;
  readonly ca: CertificateAuthority;
  /** Certificate for all servers of the site. */
  readonly serverCertificate: KeyPair;
  /** Loopback ports. */
  readonly ports: Readonly<Record<ControlPlanePort, number>>;
  /** OIDC issuers that the API server accepts. */
  readonly issuers: readonly string[];
  /** Called after each process is started, so that a failed start can be cleaned up. */
  readonly onStart: (started: StartedProcess) => Promise<void>;
}

export const controlPlanePorts = [
  'etcd',
  'etcdPeer',
  'apiServer',
  'controllerManager',
  'scheduler',
] as const;
type ControlPlanePort = (typeof controlPlanePorts)[number];

const readyTimeoutMs = 60_000;

/** Cluster IP of the Service `kubernetes`: the first of the range. */
export const serviceAddress = '10.96.0.1';

/** `--name=value` for each entry. */
function flags(values: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

/** Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and waits until each is healthy. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { directory, ports, ca } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const server = `https://127.0.0.1:${ports.apiServer}`;
  const adminKubeconfig = join(directory, 'admin.kubeconfig');
  const admin = await ca.client('berth-test-admin', ['system:masters']);
  await writeKubeconfig(adminKubeconfig, {
    server,
    ca: ca.cert,
    credential: { certificate: admin },
  });

  await start(options, 'etcd', etcdFlags(options), `https://127.0.0.1:${ports.etcd}/readyz`);
  const apiServer = await apiServerFiles(options);
  const serviceAccountKey = await signingKey(directory);
  // kubeadm's name. It has more rights than it needs, which does not matter to the tests.
  const toKubelets = await ca.client('kube-apiserver-kubelet-client', ['system:masters']);
  await start(
    options,
    'kube-apiserver',
    apiServerFlags(options, apiServer, serviceAccountKey, toKubelets),
    `${server}/readyz`,
  );
  await Promise.all([
    startController(options, 'kube-controller-manager', server, ports.controllerManager, {
      'service-account-private-key-file': serviceAccountKey.private,
      'root-ca-file': ca.cert,
      // RBAC gives rights to the controllers' ServiceAccounts. Without them the objects of a namespace that
      // is being deleted could not be removed.
      'use-service-account-credentials': true,
      // As on large clusters. With the default of 20 requests a second a benchmark of first logins would
      // measure how fast default ServiceAccounts are created.
      'kube-api-qps': 300,
      'kube-api-burst': 600,
    }),
    startController(options, 'kube-scheduler', server, ports.scheduler, {}),
  ]);
  await firstServiceAccount(server, ca.cert, admin);
  return {
    server,
    adminKubeconfig,
    adminCertificate: admin,
    auditLog: apiServer.auditLog,
    authenticationConfiguration: apiServer.authenticationConfiguration,
  };
}

function etcdFlags({ directory, ports, serverCertificate, ca }: ControlPlaneOptions): string[] {
  const url = `https://127.0.0.1:${ports.etcd}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  return flags({
    name: 'site',
    'data-dir': join(directory, 'etcd'),
    'unsafe-no-fsync': true,
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `site=${peer}`,
    'cert-file': serverCertificate.cert,
    'key-file': serverCertificate.key,
    'trusted-ca-file': ca.cert,
    'client-cert-auth': true,
    'peer-cert-file': serverCertificate.cert,
    'peer-key-file': serverCertificate.key,
    'peer-trusted-ca-file': ca.cert,
    'peer-client-cert-auth': true,
    'log-level': 'warn',
  });
}

interface ApiServerFiles {
  readonly auditLog: string;
  readonly auditPolicy: string;
  readonly authenticationConfiguration: string;
}

async function apiServerFiles({
  directory,
  issuers,
  ca,
}: ControlPlaneOptions): Promise<ApiServerFiles> {
  const files = {
    auditLog: join(directory, 'audit.log'),
    auditPolicy: join(directory, 'audit-policy.yaml'),
    authenticationConfiguration: join(directory, 'authentication.yaml'),
  };
  await writeAuditPolicy(files.auditPolicy);
  await writeAuthenticationConfiguration(files.authenticationConfiguration, issuers, ca.cert);
  return files;
}

function apiServerFlags(
  { ports, serverCertificate, ca }: ControlPlaneOptions,
  files: ApiServerFiles,
  serviceAccountKey: { readonly private: string; readonly public: string },
  toKubelets: KeyPair,
): string[] {
  return flags({
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    // An endpoint of the Service `kubernetes` must not be a loopback address; node/pod-network.ts connects pods.
    'endpoint-reconciler-type': 'none',
    'secure-port': ports.apiServer,
    'tls-cert-file': serverCertificate.cert,
    'tls-private-key-file': serverCertificate.key,
    'client-ca-file': ca.cert,
    'etcd-servers': `https://127.0.0.1:${ports.etcd}`,
    'etcd-cafile': ca.cert,
    'etcd-certfile': serverCertificate.cert,
    'etcd-keyfile': serverCertificate.key,
    'authorization-mode': 'Node,RBAC',
    'kubelet-client-certificate': toKubelets.cert,
    'kubelet-client-key': toKubelets.key,
    'kubelet-certificate-authority': ca.cert,
    'kubelet-preferred-address-types': 'InternalIP',
    'authentication-config': files.authenticationConfiguration,
    'service-cluster-ip-range': '10.96.0.0/16',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': serviceAccountKey.public,
    'service-account-signing-key-file': serviceAccountKey.private,
    'audit-log-path': files.auditLog,
    'audit-policy-file': files.auditPolicy,
    'audit-log-mode': 'blocking',
    // Megabytes; a rotation would invalidate the marks of running tests.
    'audit-log-maxsize': 4096,
    'allow-privileged': true,
    profiling: false,
  });
}

async function startController(
  options: ControlPlaneOptions,
  name: 'kube-controller-manager' | 'kube-scheduler',
  server: string,
  port: number,
  more: Readonly<Record<string, string | number | boolean>>,
): Promise<void> {
  const kubeconfig = join(options.directory, `${name}.kubeconfig`);
  const certificate = await options.ca.client(`system:${name}`);
  await writeKubeconfig(kubeconfig, { server, ca: options.ca.cert, credential: { certificate } });
  const own = flags({
    kubeconfig,
    'leader-elect': false,
    'bind-address': '127.0.0.1',
    'secure-port': port,
    'tls-cert-file': options.serverCertificate.cert,
    'tls-private-key-file': options.serverCertificate.key,
    ...more,
  });
  await start(options, name, own, `https://127.0.0.1:${port}/healthz`);
}

/** Waits until the controllers have created the first ServiceAccount. */
async function firstServiceAccount(server: string, ca: string, admin: KeyPair): Promise<void> {
  const url = `${server}/api/v1/namespaces/default/serviceaccounts/default`;
  await step('the ServiceAccount controller', () => answersOk(url, ca, admin));
}

/** Starts one program of the binary and waits until the URL `probe` answers 200. */
async function start(
  { binary, directory, ca, serverCertificate, onStart }: ControlPlaneOptions,
  name: string,
  args: readonly string[],
  probe: string,
): Promise<void> {
  await step(`${name} to answer at ${probe}`, async () => {
    const started = await startDetached({
      name,
      command: binary,
      args: [name, ...args],
      directory,
    });
    await onStart(started);
    await answersOk(probe, ca.cert, serverCertificate, () => assertRunning(started));
  });
}

/** Waits until `url`, requested with a client certificate, answers 200. */
async function answersOk(
  url: string,
  caFile: string,
  client: KeyPair,
  alive?: () => Promise<void>,
): Promise<void> {
  const [ca, cert, key] = await Promise.all([
    readFile(caFile, 'utf8'),
    readFile(client.cert, 'utf8'),
    readFile(client.key, 'utf8'),
  ]);
  await waitFor(
    { what: url, timeoutMs: readyTimeoutMs, ...(alive === undefined ? {} : { alive }) },
    async () => {
      const { status, text } = await send(url, { ca, client: { cert, key } });
      if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
      return true;
    },
  );
}
