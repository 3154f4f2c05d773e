import * as z from 'zod/mini';
import { matching, optionalKeys } from './schema-parts.ts';
import { configProblemsError, type Locate, noPosition } from './config-error.ts';
import { deepFreeze } from './deep-freeze.ts';
import { type Quantity, quantity } from './quota-schema.ts';
import { schemaMessages } from './schema-messages.ts';

/**
 * Resources that only components of the cluster and its admins write in users' namespaces, as `RESOURCE.GROUP`. Bindings
 * and tokens give access that outlasts the session and the account; the others are the site's limits, or take the traffic
 * or the nodes of others.
 */
export const reservedResources = [
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'serviceaccounts/token',
  'resourcequotas',
  'limitranges',
  'networkpolicies.networking.k8s.io',
  'ingresses.networking.k8s.io',
  'gateways.gateway.networking.k8s.io',
  'httproutes.gateway.networking.k8s.io',
  'grpcroutes.gateway.networking.k8s.io',
  'tlsroutes.gateway.networking.k8s.io',
  'tcproutes.gateway.networking.k8s.io',
  'udproutes.gateway.networking.k8s.io',
  'poddisruptionbudgets.policy',
] as const;

/** What a site permits in its users' pods. */
export interface AdmissionParameters {
  /** Whom a user should contact; part of each refusal. */
  readonly contact: string;
  /** Permitted hostPath volumes; `*` stands for one path component, `{user}` for the owner's name. */
  readonly hostPaths: readonly { readonly path: string; readonly readOnly: boolean }[];
  /** Permitted NFS volumes, `SERVER:/PATH`, with the same placeholders. */
  readonly nfs: readonly string[];
  readonly csiDrivers: readonly string[];
  /** Permitted StorageClasses of ephemeral volumes and PersistentVolumeClaims. */
  readonly storageClasses: readonly string[];
  /** Permitted classes of Services of type LoadBalancer; `default` permits a Service without a class. */
  readonly loadBalancerClasses: readonly string[];
  /** Annotations that pods and Services may have besides the harmless ones; `DOMAIN/*` is a whole domain. */
  readonly annotations: readonly string[];
  /** The same of PersistentVolumeClaims and their templates, whose annotations provisioners read. */
  readonly claimAnnotations: readonly string[];
  /** Permitted registries, or parts of one; `*` permits all. */
  readonly images: readonly string[];
  /** Maximum lifetime of a pod, as a Go duration: `168h`. */
  readonly maxLifetime: string;
  /** Lifetime of a pod that does not set one; if absent, such a pod is refused. */
  readonly defaultLifetime?: string;
  /** Maximum termination grace period of a pod: `5m`. */
  readonly maxGracePeriod: string;
  /** Requests and limits of a container that sets none; if absent, such a container is refused. */
  readonly defaultResources: { readonly cpu?: string; readonly memory?: string };
  /** ServiceAccounts that pods may use, besides `default`. */
  readonly serviceAccounts: readonly string[];
  /** Reserved resources that users may write if RBAC lets them. */
  readonly writableResources: readonly string[];
  /** Permitted audiences of projected tokens, besides the API server's own. */
  readonly tokenAudiences: readonly string[];
  /** Taints that pods may tolerate, by their keys. */
  readonly tolerations: readonly string[];
  readonly priorityClasses: readonly string[];
  readonly runtimeClasses: readonly string[];
  /** Permitted DeviceClasses of dynamic resource allocation; if empty, pods may have no claims. */
  readonly deviceClasses: readonly string[];
  /** Permitted profiles of type Localhost. */
  readonly seccompProfiles: readonly string[];
  readonly apparmorProfiles: readonly string[];
  /** `Merge` adds groups of the image's /etc/group: only for nodes that do not support `Strict`. */
  readonly supplementalGroupsPolicy: 'Strict' | 'Merge';
  /** ServiceAccounts, `NAMESPACE:NAME`, that write identities: the hook's and the LDAP sync's. */
  readonly stampers: readonly string[];
}

const text = matching(/^[^\p{Cc}'"\\]{1,200}$/u, 'must be text without quotes and backslashes');
const name = matching(
  /^[A-Za-z0-9._:/@-]{1,253}$/,
  'must consist of letters, digits and . _ : / @ -',
);
/** Other names are in Docker Hub: their full form is `docker.io/library/NAME`. */
const image = matching(
  /^(?:\*|(?:localhost|[A-Za-z0-9-]*[.:][A-Za-z0-9.:-]*)(?:\/[A-Za-z0-9._:@-]+)*(?:\/\*)?)$/,
  "must be '*', or a registry or a part of one, such as registry.example.org, localhost/* or docker.io/library",
);
const path = '(?:/[A-Za-z0-9._+{}*-]+)+';
const crooked = /\/\.{1,2}(?:\/|:|$)|\{(?!user\})|(?<!\{user)\}/;
const straight = z.refine<string>(
  (one) => !crooked.test(one),
  'must not contain . or .. components, nor special characters except * and {user}',
);
const directory = z
  .string()
  .check(
    z.regex(new RegExp(`^${path}(?::ro)?$`), 'must be an absolute path, with :ro if read-only'),
    straight,
  );
const served = z
  .string()
  .check(z.regex(new RegExp(`^[A-Za-z0-9._-]+:${path}$`), 'must be SERVER:/PATH'), straight);
const lifetime = matching(
  /^(?=.*[1-9])([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,7}s)?$/,
  'must be a time such as 8h or 1h30m',
);
const annotationKey = matching(
  /^(?:[A-Za-z0-9.-]{1,253}\/)?(?:[A-Za-z0-9._-]{1,63}|(?<=\/)\*)$/,
  'must be the key of an annotation or DOMAIN/*',
);
/** A pod with the token of one of these could make the next one, for ever. */
const podMakers = ['berth-session', 'berth-user'];
const podAccount = name.check(
  z.refine(
    (one) => !podMakers.includes(one),
    `must not be ${podMakers.join(' or ')}: a pod with a token of an account that may create pods could create the next one, beyond max_lifetime and the end of the account`,
  ),
);
const account = matching(/^[a-z0-9-]+:[a-z0-9.-]+$/, 'must be NAMESPACE:NAME of a ServiceAccount');

/** `admission.yml` as it is written. */
export const admissionSchema = optionalKeys({
  contact: text,
  host_paths: z.array(directory),
  nfs: z.array(served),
  csi_drivers: z.array(name),
  storage_classes: z.array(name),
  load_balancer_classes: z.array(name),
  annotations: z.array(annotationKey),
  claim_annotations: z.array(annotationKey),
  images: z.array(image),
  max_lifetime: lifetime,
  default_lifetime: z.nullable(lifetime),
  max_grace_period: lifetime,
  default_resources: optionalKeys({ cpu: quantity, memory: quantity }),
  service_accounts: z.array(podAccount),
  writable_resources: z.array(z.enum(reservedResources)),
  token_audiences: z.array(name),
  tolerations: z.array(name),
  priority_classes: z.array(name),
  runtime_classes: z.array(name),
  device_classes: z.array(name),
  seccomp_profiles: z.array(name),
  apparmor_profiles: z.array(name),
  supplemental_groups_policy: z.enum(['Strict', 'Merge']),
  stampers: z.array(account),
});

/**
 * Checks a parsed `admission.yml`. `etc/berth/admission.yml.example` has the default of each key.
 *
 * @throws BerthError `admission-yml-invalid`, with the path, line and column of each problem; exit 78
 */
export function parseAdmissionParameters(
  document: unknown,
  file: string,
  place: Locate = noPosition,
): AdmissionParameters {
  const parsed = admissionSchema.safeParse(document ?? {}, { reportInput: true });
  if (!parsed.success) {
    throw configProblemsError(
      'admission-yml-invalid',
      { file, place },
      schemaMessages(parsed.error, admissionSchema, []),
    );
  }
  const { data } = parsed;
  const defaultLifetime = data.default_lifetime === undefined ? '8h' : data.default_lifetime;
  return deepFreeze({
    contact: data.contact ?? 'the administrators of this cluster',
    hostPaths: (data.host_paths ?? []).map((one) => ({
      path: one.replace(/:ro$/, ''),
      readOnly: one.endsWith(':ro'),
    })),
    nfs: data.nfs ?? [],
    csiDrivers: data.csi_drivers ?? [],
    storageClasses: data.storage_classes ?? [],
    loadBalancerClasses: data.load_balancer_classes ?? [],
    annotations: data.annotations ?? [],
    claimAnnotations: data.claim_annotations ?? [],
    // A registry or directory includes all that is in it.
    images: (data.images ?? ['*']).map((one) => one.replace(/\/\*$/, '')),
    maxLifetime: data.max_lifetime ?? '168h',
    ...(defaultLifetime !== null && { defaultLifetime }),
    maxGracePeriod: data.max_grace_period ?? '5m',
    defaultResources: defined(data.default_resources ?? { cpu: '1', memory: '1Gi' }),
    serviceAccounts: data.service_accounts ?? [],
    writableResources: data.writable_resources ?? [],
    tokenAudiences: data.token_audiences ?? [],
    tolerations: data.tolerations ?? [],
    priorityClasses: data.priority_classes ?? [],
    runtimeClasses: data.runtime_classes ?? [],
    deviceClasses: data.device_classes ?? [],
    seccompProfiles: data.seccomp_profiles ?? [],
    apparmorProfiles: data.apparmor_profiles ?? [],
    supplementalGroupsPolicy: data.supplemental_groups_policy ?? 'Strict',
    stampers: data.stampers ?? ['ondemand:berth-hook'],
  });
}

function defined({ cpu, memory }: { cpu?: Quantity | undefined; memory?: Quantity | undefined }): {
  readonly cpu?: string;
  readonly memory?: string;
} {
  return {
    ...(cpu !== undefined && { cpu: String(cpu) }),
    ...(memory !== undefined && { memory: String(memory) }),
  };
}
