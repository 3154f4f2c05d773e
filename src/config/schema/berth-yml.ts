import * as z from 'zod/mini';
import { matching, optionalKeys, passing, path, text, wholeNumber } from './schema-parts.ts';
import { isCidr, network, rewrittenNetwork } from './ip-address.ts';
import {
  configProblemsError,
  type Locate,
  noPosition,
  type ProblemMessage,
} from './config-error.ts';
import { durationBetween } from './duration-schema.ts';
import { namespaceName, objectName } from './object-name.ts';
import { parseIssuer } from './issuer-url.ts';
import { limitRange, quantity, resourceQuota } from './quota-schema.ts';
import { logFormats } from '../../log.ts';
import { schemaMessages } from './schema-messages.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { SettingsWarning } from './settings.ts';

/** The highest ID: 4294967295 is -1 as an unsigned 32-bit number, which the kernel takes for "no ID". */
const maximumId = 4_294_967_294;
const cidr = passing(isCidr, 'must be address/length, e.g. 10.0.0.0/8');
const issuer = passing(
  (url) => 'issuer' in parseIssuer(url),
  'must be an https URL without query or fragment',
);
const port = wholeNumber(1, 65_535);
const dnsName = matching(objectName, 'must be a valid Kubernetes object name');
const roleResource = matching(
  /^(?:\*\.[a-z0-9.-]+|[a-z0-9]+(?:\/[a-z0-9]+)?(?:\.[a-z0-9.-]+)?)$/,
  'must be RESOURCE.GROUP, RESOURCE/SUBRESOURCE.GROUP or *.GROUP',
);
const namespace = matching(namespaceName, 'must be the name of a Kubernetes namespace');

/** `PersistentVolumeAccessMode` of Kubernetes. */
const accessModes = ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOncePod'];

const admin = optionalKeys({
  kubeconfig: path,
  context: text,
  cluster_api: z.strictObject({
    kubeconfig: z.optional(path),
    context: z.optional(text),
    namespace,
    cluster: dnsName,
  }),
});

const credentials = optionalKeys({
  mode: z.enum(['oidc', 'service-account', 'legacy', 'none']),
  issuer,
  ca_file: path,
  client_id: text,
  client_secret_file: path,
  // `token_endpoint_auth_method` of OpenID Connect Core section 9 and RFC 8705 section 2.1.
  client_auth_method: z.enum([
    'client_secret_basic',
    'client_secret_post',
    'private_key_jwt',
    'tls_client_auth',
  ]),
  client_key_file: path,
  client_key_id: text,
  client_certificate_file: path,
  audience: text,
  exchange: z.boolean(),
  exchange_scope: text,
  own_refresh_token: z.boolean(),
  username_claim: text,
  email_verified: z.enum(['required', 'if-present']),
  clock_skew: durationBetween('0s', '10m'),
  token: z.enum(['id', 'access']),
  service_account: dnsName,
  // The shortest that the API server issues.
  lifetime: durationBetween('10m', '720h'),
});

export const clusterSchema = optionalKeys({
  admin,
  subject_prefix: z.string(),
  allow_cidrs: z.array(cidr),
  // null removes the value of `defaults` or hook.env.
  pull_secret: z.nullable(z.strictObject({ name: dnsName, docker_config_json: path })),
  job_pod_reaper: z.boolean(),
  resource_quota: z.nullable(resourceQuota),
  limit_range: z.nullable(limitRange),
  credentials,
  jupyterhub: z.nullable(
    z.strictObject({
      namespace,
      service_account: dnsName,
      groups: z.optional(z.array(text).check(z.minLength(1))),
    }),
  ),
  network_egress: z.nullable(
    z.strictObject({
      networks: z.optional(
        z.array(z.strictObject({ cidr, ports: z.optional(z.array(port).check(z.minLength(1))) })),
      ),
    }),
  ),
  volume_claims: z.array(
    z.strictObject({
      name: dnsName,
      size: quantity,
      storage_class: z.optional(dnsName),
      access_modes: z.optional(z.array(z.enum(accessModes)).check(z.minLength(1))),
    }),
  ),
  user_roles: z.array(dnsName),
  user_role_resources: z.array(roleResource),
  ssh_sessions: z.nullable(z.strictObject({ secret: z.optional(dnsName) })),
});

export const siteSchema = optionalKeys({
  minimum_uid: wholeNumber(1, maximumId, 'must be 1 or more: root has no namespace'),
  log_format: z.enum(logFormats),
  // The user's first request waits for the hook, and Apache times out after a minute (`Timeout`).
  deadline: durationBetween('100ms', '1m'),
  state_dir: path,
  kube_credential: path,
  // null: the site has no hook.env.
  hook_env: z.nullable(path),
  clusters_dir: path,
  defaults: clusterSchema,
  clusters: z.record(z.string(), z.unknown()),
  // Checked by `berth ldap-sync` and `slurm-sync` alone, so that a mistake in them does not affect the hook.
  ldap: z.unknown(),
  slurm_accounts: z.unknown(),
});

export type ClusterOptions = z.output<typeof clusterSchema>;
type SiteOptions = Omit<z.output<typeof siteSchema>, 'clusters'>;

/** Berth's own configuration. Every key is optional. Times are in milliseconds. */
export interface BerthOptions extends SiteOptions {
  /** By OnDemand's name of the cluster. An invalid entry affects only its own cluster. */
  readonly clusters: ReadonlyMap<string, ClusterOptions | BerthError>;
  readonly warnings: readonly SettingsWarning[];
}

/** The options of a site without a `berth.yml`. */
export const emptyBerthOptions: BerthOptions = { clusters: new Map(), warnings: [] };

/**
 * Checks a parsed `berth.yml`. An invalid entry below `clusters` is replaced by its error.
 *
 * @throws BerthError `berth-yml-invalid`, with the path, line and column of each problem, and for an
 *   unknown key the nearest known one
 */
export function parseBerthYml(
  document: unknown,
  file: string,
  place: Locate = noPosition,
): BerthOptions {
  const source = { file, place };
  // A file with comments only sets nothing.
  const parsed = siteSchema.safeParse(document ?? {}, { reportInput: true });
  if (!parsed.success) throw invalid(source, schemaMessages(parsed.error, siteSchema, []));
  const { clusters = {}, defaults, ...site } = parsed.data;
  const warnings: SettingsWarning[] = [];
  const masked = (options: ClusterOptions, path: readonly string[]): ClusterOptions =>
    withNetworks(options, path, source, (one) => warnings.push(one));
  const ofAll = defaults === undefined ? {} : { defaults: masked(defaults, ['defaults']) };
  const entries = Object.entries(clusters).map(([name, entry]) => {
    const options = clusterOptions(name, entry, source);
    return [
      name,
      options instanceof BerthError ? options : masked(options, ['clusters', name]),
    ] as const;
  });
  return {
    ...site,
    ...ofAll,
    clusters: new Map(entries),
    warnings,
  };
}

/** The networks of `allow_cidrs` and `network_egress` as every API server accepts them. */
function withNetworks(
  options: ClusterOptions,
  path: readonly string[],
  { file, place }: Source,
  warn: (warning: SettingsWarning) => unknown,
): ClusterOptions {
  const { allow_cidrs: cidrs, network_egress: egress } = options;
  const masked = (text: string, key: readonly string[], within: readonly (string | number)[]) => {
    const { cidr = text, refused } = network(text) ?? {};
    if (refused !== undefined)
      warn({
        code: 'network-rewritten',
        message: `${[...path, ...key].join('.')}: ${rewrittenNetwork(text, cidr, refused)}`,
        file,
        ...place({ path: [...path, ...key, ...within] }),
      });
    return cidr;
  };
  return {
    ...options,
    ...(cidrs && {
      allow_cidrs: cidrs.map((text, index) => masked(text, ['allow_cidrs'], [index])),
    }),
    ...(egress?.networks && {
      network_egress: {
        networks: egress.networks.map((one, index) => ({
          ...one,
          cidr: masked(one.cidr, ['network_egress', 'networks'], [index, 'cidr']),
        })),
      },
    }),
  };
}

interface Source {
  readonly file: string;
  readonly place: Locate;
}

function clusterOptions(name: string, entry: unknown, source: Source): ClusterOptions | BerthError {
  const parsed = clusterSchema.safeParse(entry ?? {}, { reportInput: true });
  if (!parsed.success) {
    const problems = schemaMessages(parsed.error, clusterSchema, ['clusters', name]);
    return invalid(source, problems, name);
  }
  return parsed.data;
}

function invalid(
  source: Source,
  problems: readonly ProblemMessage[],
  cluster?: string,
): BerthError {
  return configProblemsError(
    'berth-yml-invalid',
    source,
    problems,
    undefined,
    cluster === undefined ? {} : { cluster },
  );
}
