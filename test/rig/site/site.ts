import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { commandAs, homeOf } from './accounts.ts';
import { CertificateAuthority } from './certificates.ts';
import { siteDirectory } from './directories.ts';
import { send } from './https.ts';
import { AuditLog } from './kubernetes/audit.ts';
import { Realm } from './keycloak/realm.ts';
import type { SiteRecord } from './site-record.ts';
import { startSite } from './start.ts';

/** Features that a site may lack. */
export type Feature = 'audit' | 'oidc-authentication' | 'accounts' | 'node';

export interface Skip {
  readonly feature: Feature;
  /** Why the feature is missing, and how to get it. */
  readonly reason: string;
}

export interface KubectlOptions {
  /** Path; default: the admin's. */
  readonly kubeconfig?: string;
  /** Bearer token, used instead of any kubeconfig. */
  readonly token?: string;
  /** Linux account that runs kubectl, with its home and groups. */
  readonly account?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The result of kubectl, also if it failed. */
export interface KubectlResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The running test site. */
export interface Site {
  readonly record: SiteRecord;
  /** The CA certificate of all servers of the site, as PEM and as a path. */
  readonly ca: { readonly pem: string; readonly file: string };
  /** URL of the API server. */
  readonly server: string;
  readonly adminKubeconfig: string;
  /** Path of kubectl. */
  readonly kubectlPath: string;
  readonly keycloak: Realm;
  /** The site's CA, for example to issue client certificates for Kubernetes users. */
  readonly certificates: CertificateAuthority;
  /** What cannot be tested on this site. */
  readonly skips: readonly Skip[];
  /** The API server's audit log. @throws Error if an existing cluster is used */
  readonly audit: AuditLog;
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** Why tests of this feature cannot run, or undefined if they can. */
  skipReason(feature: Feature): string | undefined;
}

/**
 * Returns the running site, and starts it if necessary. The first start on a machine takes minutes.
 *
 * `BERTH_TEST_KUBECONFIG` names an existing cluster to use instead of a local one; `skips` then lists what
 * cannot be tested.
 *
 * @throws Error with the end of the log if a process does not start; with `CI=true` also if tests would be
 *   skipped
 */
export async function openSite(): Promise<Site> {
  const given = process.env.BERTH_TEST_KUBECONFIG;
  const skips = [...skipsOf(given)];
  if (process.env.CI === 'true' && skips.length > 0) {
    const list = skips.map(({ feature, reason }) => `${feature}: ${reason}`).join('; ');
    throw new Error(`with CI=true no test may be skipped, but these features are missing: ${list}`);
  }
  return siteOf(await startSite({ cluster: given === undefined }), given, skips);
}

/**
 * The servers of a record.
 *
 * @param given kubeconfig of a cluster that is not the record's
 */
export async function siteOf(
  record: SiteRecord,
  given?: string,
  skips: readonly Skip[] = [],
): Promise<Site> {
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
      if (audit === undefined)
        throw new Error('an existing cluster is used, whose audit log cannot be read');
      return audit;
    },
    kubectl: run,
    skipReason: (feature) => skips.find((skip) => skip.feature === feature)?.reason,
  };
}

function* skipsOf(given: string | undefined): Generator<Skip> {
  if (given !== undefined) {
    const reason = 'BERTH_TEST_KUBECONFIG names a cluster that the tests did not start; unset it';
    yield { feature: 'audit', reason: `${reason} to read an API server's audit log` };
    yield { feature: 'oidc-authentication', reason: `${reason} to have one that trusts Keycloak` };
    yield { feature: 'node', reason: `${reason} to have a node that shares the homes` };
  }
  if (process.getuid?.() !== 0) {
    yield { feature: 'accounts', reason: 'only root can create accounts; run the tests as root' };
    yield { feature: 'node', reason: 'only root can start a node; run the tests as root' };
  }
}

/** Runs kubectl with the environment that the test gives, not the developer's. */
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
        HOME: options.account === undefined ? siteDirectory : homeOf(options.account),
        ...options.env,
      },
      ...(options.input === undefined ? { stdin: 'ignore' } : { input: options.input }),
      timeout: 60_000,
    });
    // At SIGTERM, a kubectl that waits exits with 1 and says nothing.
    if (result.timedOut || result.exitCode === undefined)
      throw new Error(result.shortMessage, { cause: result });
    return { exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr };
  };
}

function bearer({ kubernetes, ca }: SiteRecord, token: string): string[] {
  if (kubernetes === undefined)
    throw new Error('the option `token` works with the local cluster only');
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
