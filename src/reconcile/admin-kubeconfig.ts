import { BerthError } from '../errors.ts';
import type { ApiServer } from './api-server.ts';
import { installedPath } from '../installed-path.ts';

/** What is looked for in root's kubeconfig. */
export interface ContextChoice {
  /** The file, for messages. */
  readonly file: string;
  /** Named by the site; then nothing is guessed. */
  readonly context?: string;
  /** The cluster's address in OnDemand's `clusters.d`: the context that leads there is taken. */
  readonly endpoint: string;
  /** Whether `current-context` may decide, as it did for OSC's scripts: one cluster only. */
  readonly onlyCluster: boolean;
}

/** Reads a file that the kubeconfig names, relative to it. */
export type ReadReferenced = (path: string) => string;

/**
 * One context of a kubeconfig as an API server with credentials. Takes the document as parsed from
 * YAML or JSON. Throws `admin-kubeconfig-invalid`, `admin-kubeconfig-context` (none fits, or the
 * named one is not there) and `admin-kubeconfig-unsupported` (exec plugins and proxies).
 */
export function apiServerFrom(
  document: unknown,
  choice: ContextChoice,
  read: ReadReferenced,
): ApiServer {
  const config = mapping(document) ?? {};
  const names = chosenEntries(document, choice);
  const cluster = entry(config, 'clusters', 'cluster', names.cluster, choice.file);
  const user = entry(config, 'users', 'user', names.user, choice.file);
  const url = text(cluster.server);
  if (!url?.startsWith('https://'))
    throw invalid(choice.file, `cluster ${names.cluster} has no https server address`);
  for (const unsupported of ['exec', 'auth-provider', 'username'])
    if (user[unsupported] !== undefined)
      throw unsupportedField(choice.file, `users[].user.${unsupported}`);
  if (cluster['proxy-url'] !== undefined)
    throw unsupportedField(choice.file, 'clusters[].cluster.proxy-url');

  const ca = inlineOrFile(cluster, 'certificate-authority', read);
  const cert = inlineOrFile(user, 'client-certificate', read);
  const key = inlineOrFile(user, 'client-key', read);
  const tokenFile = text(user.tokenFile);
  const token = tokenFile === undefined ? text(user.token) : read(tokenFile).trim();
  const tlsServerName = text(cluster['tls-server-name']);
  if (token === undefined && (cert === undefined || key === undefined))
    throw invalid(choice.file, `user ${names.user} has neither a token nor a client certificate`);
  return {
    url,
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipTlsVerify: true } : {}),
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined ? {} : { clientCertificate: { cert, key } }),
  };
}

/**
 * The names of the entries that `apiServerFrom` takes, for who wants to change one of them. Throws
 * `admin-kubeconfig-context`.
 */
export function chosenEntries(
  document: unknown,
  choice: ContextChoice,
): { readonly context: string; readonly cluster: string; readonly user: string } {
  const config = mapping(document) ?? {};
  const name = chooseContext(config, choice);
  const context = entry(config, 'contexts', 'context', name, choice.file);
  return { context: name, cluster: text(context.cluster) ?? '', user: text(context.user) ?? '' };
}

function chooseContext(config: Mapping, choice: ContextChoice): string {
  if (choice.context !== undefined) return choice.context;
  const contexts = list(config.contexts);
  const leading = contexts.find((candidate) => {
    const clusterName = text(mapping(candidate.context)?.cluster);
    const cluster = list(config.clusters).find(({ name }) => name === clusterName);
    return sameAddress(text(mapping(cluster?.cluster)?.server), choice.endpoint);
  });
  const chosen =
    text(leading?.name) ?? (choice.onlyCluster ? text(config['current-context']) : undefined);
  if (chosen !== undefined && chosen !== '') return chosen;
  throw new BerthError(
    `${choice.file}: no context leads to ${choice.endpoint}; there are: ${contexts.map(({ name }) => String(name)).join(', ') || 'none'}`,
    {
      code: 'admin-kubeconfig-context',
      exit: 'config',
      hint: 'Name it in berth.yml: clusters.NAME.admin.context.',
      fields: { file: choice.file },
    },
  );
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
  const value = mapping(found?.[field]);
  if (value !== undefined) return value;
  throw section === 'contexts'
    ? new BerthError(`${file}: there is no context ${name}`, {
        code: 'admin-kubeconfig-context',
        exit: 'config',
        hint: 'See `kubectl config get-contexts --kubeconfig FILE` and name one in berth.yml: clusters.NAME.admin.context.',
        fields: { file },
      })
    : invalid(file, `there is no entry ${name} in ${section}`);
}

function inlineOrFile(from: Mapping, field: string, read: ReadReferenced): string | undefined {
  const inline = text(from[`${field}-data`]);
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString();
  const path = text(from[field]);
  return path === undefined ? undefined : read(path);
}

function invalid(file: string, what: string): BerthError {
  return new BerthError(`${file}: ${what}`, {
    code: 'admin-kubeconfig-invalid',
    exit: 'config',
    hint: 'See `kubectl config view --kubeconfig FILE`; `kubectl get ns --kubeconfig FILE` must work as root.',
    fields: { file },
  });
}

function unsupportedField(file: string, field: string): BerthError {
  return new BerthError(`${file}: ${field} is not something the hook can use at a login`, {
    code: 'admin-kubeconfig-unsupported',
    exit: 'config',
    hint: `Give the hook a ServiceAccount token of its own: \`kubectl apply -k ${installedPath('share/etc/kubernetes')}\`, then \`berth token setup\`.`,
    fields: { file },
  });
}

type Mapping = Readonly<Record<string, unknown>>;

function mapping(value: unknown): Mapping | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Mapping)
    : undefined;
}

function list(value: unknown): Mapping[] {
  return Array.isArray(value)
    ? value.map(mapping).filter((element): element is Mapping => element !== undefined)
    : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
