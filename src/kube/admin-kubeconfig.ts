import { BerthError } from '../system/errors/berth-error.ts';
import type { ApiServer } from './api-server.ts';
import { asMapping, type Mapping } from '../system/text/mapping.ts';

/** Which context of root's kubeconfig to use. */
export interface ContextChoice {
  /** The file, for messages. */
  readonly file: string;
  /** Name of the context, if the site configures one. */
  readonly context?: string;
  /** The cluster's address in OnDemand's `clusters.d`: else the context with this server is used. */
  readonly endpoint: string;
  /** Whether `current-context` is the fallback, as with OSC's scripts: only with one cluster. */
  readonly onlyCluster: boolean;
}

/** Reads a file that the kubeconfig names, relative to it. */
export type ReadNamedFile = (path: string) => string;

/** One context of a kubeconfig, the files that it names read. */
export interface ContextAccess {
  readonly server: ApiServer;
  /** Name of the user entry. */
  readonly user: string;
  /** The `exec` of the user entry, not validated. */
  readonly exec?: unknown;
  readonly proxyUrl?: string;
}

/**
 * The API server and credentials of one context of a kubeconfig, which is parsed from YAML or JSON.
 * Throws what `readContext` throws, and `admin-kubeconfig-unsupported` for exec plugins and `proxy-url`,
 * which only admin commands can use (`kubectlAccess`).
 */
export function apiServerFrom(
  document: unknown,
  choice: ContextChoice,
  read: ReadNamedFile,
): ApiServer {
  const { server, exec, proxyUrl } = readContext(document, choice, read);
  if (exec !== undefined) throw unsupportedField(choice.file, 'users[].user.exec');
  if (proxyUrl !== undefined) throw unsupportedField(choice.file, 'clusters[].cluster.proxy-url');
  return server;
}

/**
 * One context of a kubeconfig. Throws `admin-kubeconfig-invalid`, `admin-kubeconfig-context` (none
 * matches, or the named one is missing) and `admin-kubeconfig-unsupported` for `auth-provider` and
 * `username`, which client-go no longer supports either, and for impersonation, which no command of Berth does.
 */
export function readContext(
  document: unknown,
  choice: ContextChoice,
  read: ReadNamedFile,
): ContextAccess {
  const config = asMapping(document) ?? {};
  const names = entriesOfContext(document, choice);
  const cluster = entry(config, 'clusters', 'cluster', names.cluster, choice.file);
  const user = entry(config, 'users', 'user', names.user, choice.file);
  const url = text(cluster.server);
  if (!url?.startsWith('https://'))
    throw invalid(choice.file, `cluster ${names.cluster} has no https server address`);
  const unsupported = Object.keys(user).find((key) =>
    /^(?:auth-provider|username|as|as-.*)$/.test(key),
  );
  if (unsupported !== undefined) throw unsupportedField(choice.file, `users[].user.${unsupported}`);

  const ca = inlineOrFile(cluster, 'certificate-authority', read);
  const cert = inlineOrFile(user, 'client-certificate', read);
  const key = inlineOrFile(user, 'client-key', read);
  const tokenFile = text(user.tokenFile);
  const token = tokenFile === undefined ? text(user.token) : read(tokenFile).trim();
  const tlsServerName = text(cluster['tls-server-name']);
  const proxyUrl = text(cluster['proxy-url']);
  const exec = user.exec ?? undefined;
  if (token === undefined && (cert === undefined || key === undefined) && exec === undefined)
    throw invalid(choice.file, `user ${names.user} has neither a token nor a client certificate`);
  return {
    server: {
      url,
      ca,
      tlsServerName,
      ...(cluster['insecure-skip-tls-verify'] === true && { insecureSkipTlsVerify: true }),
      token,
      ...(cert === undefined || key === undefined ? {} : { clientCertificate: { cert, key } }),
    },
    user: names.user,
    exec,
    proxyUrl,
  };
}

/**
 * The names of the entries that `apiServerFrom` uses. Throws `admin-kubeconfig-context`.
 */
export function entriesOfContext(
  document: unknown,
  choice: ContextChoice,
): { readonly context: string; readonly cluster: string; readonly user: string } {
  const config = asMapping(document) ?? {};
  const name = chooseContext(config, choice);
  const context = entry(config, 'contexts', 'context', name, choice.file);
  return { context: name, cluster: text(context.cluster) ?? '', user: text(context.user) ?? '' };
}

function chooseContext(config: Mapping, choice: ContextChoice): string {
  if (choice.context !== undefined) return choice.context;
  const contexts = list(config.contexts);
  const leading = contexts.find((candidate) => {
    const clusterName = text(asMapping(candidate.context)?.cluster);
    const cluster = list(config.clusters).find(({ name }) => name === clusterName);
    return sameAddress(text(asMapping(cluster?.cluster)?.server), choice.endpoint);
  });
  const chosen =
    text(leading?.name) ?? (choice.onlyCluster ? text(config['current-context']) : undefined);
  if (chosen !== undefined && chosen !== '') return chosen;
  const names = contexts.map(({ name }) => String(name)).join(', ');
  const wanted = choice.endpoint === '' ? 'current-context' : `context with ${choice.endpoint}`;
  throw new BerthError(
    'admin-kubeconfig-context',
    names === ''
      ? `${choice.file} has no contexts`
      : `${choice.file} has no ${wanted}; contexts: ${names}`,
    {
      hint: contextHint(choice.file),
      fields: { file: choice.file },
    },
  );
}

function contextHint(file: string): string {
  return `\`kubectl config get-contexts --kubeconfig ${file}\` lists them. Name one with --context, or in berth.yml: clusters.NAME.admin.context.`;
}

function sameAddress(one: string | undefined, other: string): boolean {
  if (one === undefined || !URL.canParse(one) || !URL.canParse(other)) return one === other;
  const strip = (address: string): string => new URL(address).href.replace(/\/$/, '');
  return strip(one) === strip(other);
}

function entry(
  config: Mapping,
  section: string,
  field: string,
  name: string,
  file: string,
): Mapping {
  const found = list(config[section]).find((candidate) => candidate.name === name);
  const value = asMapping(found?.[field]);
  if (value !== undefined) return value;
  throw section === 'contexts'
    ? new BerthError('admin-kubeconfig-context', `${file}: context ${name} does not exist`, {
        hint: contextHint(file),
        fields: { file },
      })
    : invalid(file, `${section} has no entry ${name}`);
}

function inlineOrFile(from: Mapping, field: string, read: ReadNamedFile): string | undefined {
  const inline = text(from[`${field}-data`]);
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString();
  const path = text(from[field]);
  return path === undefined ? undefined : read(path);
}

function invalid(file: string, what: string): BerthError {
  return new BerthError('admin-kubeconfig-invalid', `${file}: ${what}`, { fields: { file } });
}

/** Whether only an admin command can use the kubeconfig, as kubectl can. */
export function needsKubectl(thrown: unknown): boolean {
  return thrown instanceof BerthError && thrown.code === 'admin-kubeconfig-unsupported';
}

function unsupportedField(file: string, field: string): BerthError {
  return new BerthError(
    'admin-kubeconfig-unsupported',
    `${file}: ${field} cannot be used by the hook at a login`,
    {
      fields: { file },
    },
  );
}

function list(value: unknown): Mapping[] {
  return Array.isArray(value)
    ? value.map(asMapping).filter((element): element is Mapping => element !== undefined)
    : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
