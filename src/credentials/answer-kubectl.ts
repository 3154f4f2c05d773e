import { readdirSync } from 'node:fs';
import { BerthError } from '../system/errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import {
  type CredentialCache,
  credentialCachePath,
  isFresh,
  readCredentialCache,
  renewBeforeSeconds,
} from './credential-cache.ts';
import { restartWebServer } from './oidc/portal-hints.ts';
import { parsedJson } from '../system/text/parsed-json.ts';

export interface PluginCall {
  /** KUBERNETES_EXEC_INFO, set by client-go. */
  readonly execInfo: string | undefined;
  /** Arguments of the plugin: none, or `--cluster NAME`. */
  readonly args: readonly string[];
  readonly home: string;
  readonly uid: number;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** Gets a new token from the provider or the broker if the one in the file has expired. */
export type Renew = (path: string, cache: CredentialCache) => Promise<CredentialCache>;

/**
 * Answers client-go's exec credential protocol (client.authentication.k8s.io/v1).
 *
 * @returns the ExecCredential as JSON, with the token and the time at which client-go must ask again. That
 *   is the time at which the token is renewed, so a long watch never uses an expired token.
 * @throws {BerthError} `kubectl-call-invalid` if the caller is not kubectl, `credential-missing`,
 *   `credential-expired`, and what `readCredentialCache` and `renew` throw
 */
export async function answerKubectl(call: PluginCall, renew: Renew): Promise<string> {
  const { apiVersion, server } = parseExecInfo(call.execInfo);
  const { path, cache } = findCache(call, server);
  const answer = isFresh(cache, call.now()) ? cache : await renew(path, cache);

  const askAgain = isFresh(answer, call.now())
    ? answer.expiry - renewBeforeSeconds
    : // The provider is down; the token is still valid for some seconds.
      answer.expiry;
  return JSON.stringify({
    apiVersion,
    kind: 'ExecCredential',
    status: {
      expirationTimestamp: new Date(askAgain * 1000).toISOString(),
      token: answer.token,
    },
  });
}

function parseExecInfo(text: string | undefined): { apiVersion: string; server?: string } {
  const info = parsedJson(text ?? '') as ExecInfo | null | undefined;
  const apiVersion = info?.apiVersion;
  // The two versions do not differ in what is used here. The answer must have the caller's version.
  if (
    apiVersion !== 'client.authentication.k8s.io/v1' &&
    apiVersion !== 'client.authentication.k8s.io/v1beta1'
  ) {
    throw new BerthError(
      'kubectl-call-invalid',
      'kube-credential was not called by kubectl: KUBERNETES_EXEC_INFO is not set',
    );
  }
  const server = info?.spec?.cluster?.server;
  return { apiVersion, ...(typeof server === 'string' && { server }) };
}

interface ExecInfo {
  readonly apiVersion?: unknown;
  readonly spec?: { readonly cluster?: { readonly server?: unknown } | null } | null;
}

function findCache(call: PluginCall, server: string | undefined) {
  const [flag, name, ...rest] = call.args;
  if (flag === '--cluster' && name !== undefined && rest.length === 0)
    return findByName(call, name);
  if (flag !== undefined) {
    throw new BerthError('kubectl-call-invalid', `unknown argument '${escapeControl(flag)}'`, {
      hint: 'Use --cluster NAME or no arguments.',
    });
  }
  if (server === undefined) {
    throw new BerthError(
      'kubectl-call-invalid',
      'kubectl did not name the cluster in KUBERNETES_EXEC_INFO',
      {
        exit: 'config',
        hint: `Set provideClusterInfo: true in the exec part of the kubeconfig’s user entry. ${restartWebServer}: the hook then corrects the entry.`,
      },
    );
  }
  const path = `${call.home}/${credentialCachePath(server)}`;
  const cache = readCredentialCache(path, call.uid, server);
  if (cache === undefined) throw missing(server);
  return { path, cache };
}

function findByName(call: PluginCall, name: string) {
  const directory = `${call.home}/.kube/cache/berth`;
  let files: string[] = [];
  try {
    files = readdirSync(directory).filter((file) => file.endsWith('.json'));
  } catch {
    // No directory: no credential.
  }
  for (const file of files) {
    const path = `${directory}/${file}`;
    const cache = readCredentialCache(path, call.uid);
    if (cache?.cluster === name) return { path, cache };
  }
  throw missing(name);
}

function missing(what: string): BerthError {
  return new BerthError('credential-missing', `there is no credential for ${escapeControl(what)}`);
}
