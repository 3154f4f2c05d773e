import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { commandAs, homeOf } from './accounts.ts';
import { CertificateAuthority } from './certificates.ts';
import { siteFolder } from './folders.ts';
import { send } from './https.ts';
import { AuditLog } from './kubernetes/audit.ts';
import { Realm } from './keycloak/realm.ts';
import type { SiteRecord } from './record.ts';
import { startSite } from './start.ts';

/** What a site may lack. */
export type Feature = 'audit' | 'oidc-authentication' | 'accounts' | 'node';

export interface Skip {
  readonly feature: Feature;
  /** For a person: why, and what would change it. */
  readonly reason: string;
}

export interface KubectlOptions {
  /** Path; the admin's unless told. */
  readonly kubeconfig?: string;
  /** Bearer token, used instead of any kubeconfig. */
  readonly token?: string;
  /** Linux account that runs kubectl, with its own home and groups. */
  readonly account?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A finished kubectl; it failing is a result, not an exception. */
export interface KubectlResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The running test site, as tests use it. */
export interface Site {
  readonly record: SiteRecord;
  /** PEM and path of the CA of all servers of the site. */
  readonly ca: { readonly pem: string; readonly file: string };
  /** URL of the API server. */
  readonly server: string;
  readonly adminKubeconfig: string;
  /** Path of the real kubectl. */
  readonly kubectlPath: string;
  readonly keycloak: Realm;
  /** Issues certificates of the site's CA, e.g. client certificates for Kubernetes users. */
  readonly certificates: CertificateAuthority;
  /** What cannot be tested on this site. */
  readonly skips: readonly Skip[];
  /** The API server's audit log. @throws Error on a cluster that is not ours */
  readonly audit: AuditLog;
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** Why a test of this feature cannot run here, or undefined when it can. */
  skipped(feature: Feature): string | undefined;
}

/**
 * The running site, started when there is none (minutes on a machine that never built it).
 *
 * `BERTH_TEST_KUBECONFIG` names an existing cluster to use instead of a local one; what then cannot
 * be tested is in `skips`.
 *
 * @throws Error when a part does not come up, with the end of its log; with `CI=true` also when
 *   anything would be skipped
 */
export async function openSite(): Promise<Site> {
  const given = process.env.BERTH_TEST_KUBECONFIG;
  const skips = [...skipsOf(given)];
  if (process.env.CI === 'true' && skips.length > 0) {
    const list = skips.map(({ feature, reason }) => `${feature}: ${reason}`).join('; ');
    throw new Error(`in CI nothing is skipped, but here would be: ${list}`);
  }
  const record = await startSite({ cluster: given === undefined });
  const adminKubeconfig = given ?? record.kubernetes?.adminKubeconfig;
  if (adminKubeconfig === undefined) throw new Error('the site has no cluster');

  const pem = await readFile(record.ca, 'utf8');
  const certificates = CertificateAuthority.open(record.certificates);
  const run = runner(record, adminKubeconfig);
  const server = record.kubernetes?.server ?? (await serverOf(run));
  const audit = given === undefined ? await auditOf(record, pem) : undefined;
  return {
    record,
    ca: { pem, file: record.ca },
    server,
    adminKubeconfig,
    kubectlPath: record.kubectl,
    keycloak: new Realm(record.keycloak.issuer, pem),
    certificates,
    skips,
    get audit() {
      if (audit === undefined) throw new Error('no audit log: the cluster is not ours');
      return audit;
    },
    kubectl: run,
    skipped: (feature) => skips.find((skip) => skip.feature === feature)?.reason,
  };
}

function* skipsOf(given: string | undefined): Generator<Skip> {
  if (given !== undefined) {
    const reason = 'BERTH_TEST_KUBECONFIG names a cluster that we did not start; unset it';
    yield { feature: 'audit', reason: `${reason} to read an API server's audit log` };
    yield { feature: 'oidc-authentication', reason: `${reason} to have one that trusts Keycloak` };
    yield { feature: 'node', reason: `${reason} to have a node that shares the homes` };
  }
  if (process.getuid?.() !== 0) {
    yield { feature: 'accounts', reason: 'only root can make accounts; run the tests as root' };
    yield { feature: 'node', reason: 'only root can start a node; run the tests as root' };
  }
}

/** kubectl with nothing of the developer's own environment but what a test gives. */
function runner(record: SiteRecord, adminKubeconfig: string): Site['kubectl'] {
  return async (args, options = {}) => {
    const identity =
      options.token === undefined
        ? [`--kubeconfig=${options.kubeconfig ?? adminKubeconfig}`]
        : bearer(record, options.token);
    const { command, args: argv } = commandAs(options.account, record.kubectl, [
      ...identity,
      ...args,
    ]);
    const result = await execa(command, argv, {
      reject: false,
      extendEnv: false,
      env: {
        PATH: process.env.PATH,
        HOME: options.account === undefined ? siteFolder : homeOf(options.account),
        ...options.env,
      },
      ...(options.input === undefined ? { stdin: 'ignore' } : { input: options.input }),
      timeout: 60_000,
    });
    if (result.exitCode === undefined) throw new Error(result.shortMessage, { cause: result });
    return { exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr };
  };
}

function bearer({ kubernetes, ca }: SiteRecord, token: string): string[] {
  if (kubernetes === undefined) throw new Error('a bare token works on the local cluster only');
  return [
    '--kubeconfig=/dev/null',
    `--server=${kubernetes.server}`,
    `--certificate-authority=${ca}`,
    `--token=${token}`,
  ];
}

async function serverOf(kubectl: Site['kubectl']): Promise<string> {
  const { exitCode, stdout, stderr } = await kubectl([
    ...['config', 'view', '--minify', '--output=jsonpath={.clusters[0].cluster.server}'],
  ]);
  if (exitCode !== 0) throw new Error(`BERTH_TEST_KUBECONFIG: ${stderr}`);
  return stdout;
}

async function auditOf({ kubernetes }: SiteRecord, ca: string): Promise<AuditLog | undefined> {
  if (kubernetes === undefined) return undefined;
  const { adminCertificate, auditLog, server } = kubernetes;
  const client = {
    cert: await readFile(adminCertificate.cert, 'utf8'),
    key: await readFile(adminCertificate.key, 'utf8'),
  };
  return new AuditLog(auditLog, (path) => send(`${server}${path}`, { ca, client }));
}
