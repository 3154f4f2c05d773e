import { randomBytes } from 'node:crypto';
import { open, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  type CheckResult,
  failed,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { defaultKubeconfig } from '../../config/schema/kubeconfig-path.ts';
import type { ClusterSettings, OidcSettings, SiteSettings } from '../../config/schema/settings.ts';
import { countText } from '../../system/text/count-text.ts';
import {
  credentialCachePath,
  readCredentialCacheAsync,
} from '../../credentials/credential-cache.ts';
import { groupByKubeconfig } from '../../credentials/kubeconfig/kubeconfig-entries.ts';
import { planKubeconfig } from '../../credentials/kubeconfig/update-kubeconfig.ts';
import { decodeUnverifiedClaims } from '../../credentials/oidc/verify-token.ts';
import { BerthError, expectErrno } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { subjectOf } from '../../kube/objects/user-names.ts';
import { whoAmI } from '../../kube/required-rights.ts';
import { escapeControl } from '../../log.ts';
import { asUser } from '../../system/as-user.ts';
import { whereLogged } from '../../system/syslog.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { withClient } from './cluster-checks.ts';

/** The account as the name service (NSS) has it. */
export function accountFinding({ name, uid, gid, groups, home }: User): Finding {
  return ok(`${name}: UID ${uid}, GID ${gid}, ${countText(groups.length, 'group')}, home ${home}`);
}

/**
 * Checks the user's home with the user's rights. Run this last: the credentials of the whole process are
 * the user's meanwhile, for ever if the file system hangs.
 */
export async function checkHome(
  user: User,
  settings: SiteSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const home = await runCheck(
    'user-home',
    // Creates and removes a file: access(2) would check the real user, who is root.
    () => asUser(user, () => directoryFinding(user, resolve(user.home, '.kube'))),
    timeoutMs,
  );
  const written = settings.clusters.filter(({ credentials }) => credentials.mode !== 'none');
  const results = [home];
  // One after the other: each changes the credentials of the process.
  for (const file of groupByKubeconfig(written.map((cluster) => ({ cluster }))).keys()) {
    const run = (): Promise<Finding> => kubeconfigFinding(user, file);
    results.push(await runCheck('user-kubeconfig', run, timeoutMs));
  }
  return results;
}

/** Whether the user can create a file in a directory of the home, or in its nearest existing parent. */
async function directoryFinding(user: User, wanted: string): Promise<Finding> {
  let directory = wanted;
  try {
    while (!(await isThere(directory))) {
      if (directory === resolve(user.home))
        return failed(
          `the home of ${user.name} does not exist: ${user.home}`,
          'Mount the file system on this host, or create the home (pam_mkhomedir).',
        );
      directory = dirname(directory);
    }
    const trial = join(directory, `.berth-doctor-${randomBytes(8).toString('hex')}`);
    await (await open(trial, 'wx', 0o600)).close();
    await unlink(trial);
  } catch (error) {
    expectErrno(error);
    return failed(
      `${user.name} cannot write into ${directory}: ${error.code ?? ''}`,
      error.code === 'EACCES'
        ? `Check owners and modes as that user: namei -l ${directory}`
        : 'Check `df`, `df -i` and `quota` for that file system.',
    );
  }
  return ok(`${user.name} can write into ${directory}`);
}

async function kubeconfigFinding(user: User, file: string): Promise<Finding> {
  const { path, text, mode } = await planKubeconfig(user, [], file);
  // The check of the home has tried `~/.kube`.
  const directory =
    file === defaultKubeconfig
      ? undefined
      : await asUser(user, () => directoryFinding(user, dirname(path)));
  if (directory?.status === 'failed') return directory;
  if (text === '') return ok(`${path} does not exist yet: the next login creates it`);
  return (mode & 0o077) === 0
    ? ok(`${path} can be read and changed`)
    : warning(`others can read ${path} (mode 0${mode.toString(8)})`, `chmod 600 ${path}`);
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    expectErrno(error, 'ENOENT');
    return false;
  }
}

interface Limits {
  /** Seconds since the epoch. */
  readonly now: number;
  /** For each check, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Whether each API server accepts the present token of the user, and under which name: this shows whether
 * it has the same issuer, audience and user name prefix as the configuration. It is asked at the address and with the CA
 * that the user's kubeconfig gets, which root's kubeconfig may not have. Needs a login through the portal; renews nothing.
 */
export async function checkUserTokens(
  user: User,
  chosen: readonly ClusterSettings[],
  { now, timeoutMs }: Limits,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  // One after the other: each changes the credentials of the process.
  for (const cluster of chosen) {
    const oidc = cluster.credentials;
    if (oidc.mode !== 'oidc') continue;
    const run = async (deadline: AbortSignal): Promise<Finding> => {
      const token = await keptToken(user, cluster, oidc, now);
      if (typeof token !== 'string') return token;
      return await withClient(serverOfUsers(cluster, token), deadline, (client) =>
        tokenFinding(client, user, subjectOf(cluster, user.name), oidc),
      );
    };
    results.push(await runCheck('user-token', run, timeoutMs, cluster.name));
  }
  return results;
}

function serverOfUsers(
  { server: { endpoint, caFile } }: ClusterSettings,
  token: string,
): ApiServer {
  return { url: endpoint, token, ...(caFile !== undefined && { ca: readTrusted(caFile) }) };
}

/** The file belongs to the user: its token is used only if it is one that the hook would have written. */
async function keptToken(
  user: User,
  { server }: ClusterSettings,
  { issuer, audience, usernameClaim }: OidcSettings,
  now: number,
): Promise<string | Finding> {
  const path = join(user.home, credentialCachePath(server.endpoint));
  const cache = await asUser(user, () => readCredentialCacheAsync(path, user.uid));
  if (cache === undefined)
    return skipped(
      `${user.name} has no token yet. Log in to the portal as ${user.name}; if logged in, choose Help > Restart Web Server. If there is no token after that, the log says why: ${whereLogged}`,
    );
  if (cache.expiry <= now)
    return skipped(
      `the token of ${user.name} has expired. Run berth doctor again after ${user.name} has run kubectl`,
    );
  const claims = decodeUnverifiedClaims(cache.token);
  if (claims?.iss === issuer && [claims.aud].flat().includes(audience))
    return claims[usernameClaim] === user.name
      ? cache.token
      : skipped(`the token in the home of ${user.name} is another account's`);
  return skipped(
    `the token of ${user.name} is not from ${issuer} for ${audience}. Restart the web server of ${user.name} (Help > Restart Web Server) for a new one`,
  );
}

async function tokenFinding(
  client: ApiClient,
  user: User,
  wanted: string,
  oidc: OidcSettings,
): Promise<Finding> {
  try {
    return nameFinding(await whoAmI(client), wanted, user);
  } catch (error) {
    if (error instanceof BerthError && error.code === 'api-unauthorized')
      return failed(
        `the API server does not accept the token of ${user.name} (issuer ${oidc.issuer}, audience ${oidc.audience})`,
        "Compare --oidc-issuer-url and --oidc-client-id of the API server (or its AuthenticationConfiguration) with credentials.issuer and credentials.audience in berth.yml. The API server's log gives the reason.",
      );
    throw error;
  }
}

function nameFinding(found: string, wanted: string, { name }: User): Finding {
  if (found === wanted) return ok(`the API server authenticates the token of ${name} as ${wanted}`);
  const shown = escapeControl(found).slice(0, 200);
  // Names with `system:` belong to Kubernetes, not to users of an identity provider.
  const theirs = shown.endsWith(name) && !shown.startsWith('system:');
  const prefix = theirs ? shown.slice(0, -name.length) : undefined;
  return failed(
    `the API server authenticates the token of ${name} as ${shown}, but the RoleBindings are for ${wanted}`,
    prefix === undefined
      ? `Set --oidc-username-claim of the API server and credentials.username_claim in berth.yml to the claim that contains the login name.`
      : `Write subject_prefix: ${JSON.stringify(prefix)} for this cluster in berth.yml, the value of the API server's --oidc-username-prefix. The next login corrects the RoleBindings.`,
  );
}
