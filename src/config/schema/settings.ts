import type { LogCode } from '../../system/errors/error-codes.ts';
import type { LogFormat } from '../../log.ts';

/**
 * The site's checked and frozen settings, from OnDemand's `hook.env` and `clusters.d/*.yml` and from
 * Berth's own `berth.yml`. Code that gets them reads no configuration and no environment itself.
 */
export interface SiteSettings {
  /** Accounts below this UID are refused; nginx_stage's own limit is 1000. */
  readonly minimumUid: number;
  /** How long one run of the hook may take, in milliseconds. */
  readonly deadlineMs: number;
  /** Absent: logfmt. */
  readonly logFormat?: LogFormat;
  /** `defaults.jupyterhub.groups`, for a hub without a cluster. */
  readonly hubGroups?: readonly string[];
  /** Root's state directory: the issuers' keys, refresh tokens, caches. */
  readonly stateDir: string;
  /** OnDemand's `clusters.d`; its `ood_portal.yml` is beside it. */
  readonly clustersDir: string;
  /** Where the compiled `shell/kube-credential` is installed: the exec plugin of user kubeconfigs. */
  readonly kubeCredentialCommand: string;
  readonly clusters: readonly ClusterSettings[];
  /** Problems that are not errors: a deprecated key, a world-readable secret. */
  readonly warnings: readonly SettingsWarning[];
}

export interface SettingsWarning {
  readonly code: LogCode;
  readonly message: string;
  readonly file: string;
  /** Counts from 1; absent if it is about the whole file. */
  readonly line?: number;
}

/** One cluster of `clusters.d` whose `job.adapter` is `kubernetes`. */
export interface ClusterSettings {
  /** OnDemand's name of the cluster: the name of its file without `.yml`. */
  readonly name: string;
  /** `v2.job.auth.type`; OnDemand's documentation also spells `oidc` as `odic`. */
  readonly auth: 'managed' | 'oidc' | 'gke';
  readonly server: { readonly endpoint: string; readonly caFile?: string };
  /** The user's kubeconfig and the names in it, as OnDemand's dashboard writes them. */
  readonly kubeconfig: {
    readonly cluster: string;
    readonly context: string;
    /** `config_file`: relative to the home, or absolute; `.kube/config` where absent. */
    readonly file?: string;
  };
  /** `namespace_prefix`: the namespace is this and the user's name, as the adapter computes it. */
  readonly namespacePrefix: string;
  /** `username_prefix`: it begins the name of the kubeconfig's user entry. */
  readonly usernamePrefix: string;
  /** The API server's OIDC username prefix: it begins the RBAC subject. */
  readonly subjectPrefix: string;
  readonly admin: AdminCredentials;
  readonly allowedCidrs: readonly string[];
  readonly pullSecret?: PullSecretSettings;
  /** Gives OSC's job-pod-reaper access to the namespace. */
  readonly jobPodReaper: boolean;
  /** `spec` of the ResourceQuota; absent for none. */
  readonly resourceQuota?: JsonObject;
  /** `spec` of the LimitRange; absent for none. */
  readonly limitRange?: JsonObject;
  readonly credentials: CredentialSettings;
  /** The ServiceAccount of a JupyterHub, which starts pods in the users' namespaces; null if there is none any more. */
  readonly jupyterhub?: HubAccount | null;
  /** Present if the pods of users may connect only to these networks, to DNS, to the hub and to each other. */
  readonly networkEgress?: { readonly networks: readonly EgressNetwork[] };
  /** Claims that each user gets once. */
  readonly volumeClaims?: readonly VolumeClaim[];
  /** More ClusterRoles for users. Absent: bindings that other hosts made stay. */
  readonly userRoles?: readonly string[];
  /** What these may write beyond what Berth knows: `RESOURCE.GROUP` or `*.GROUP`. */
  readonly userRoleResources?: readonly string[];
  /** Present if SSH sessions may be pods on this cluster. */
  readonly sshSessions?: SshSessionsOfCluster;
}

export interface VolumeClaim {
  readonly name: string;
  /** A quantity. */
  readonly size: string;
  /** Absent: the cluster's default class. */
  readonly storageClass?: string;
  readonly accessModes: readonly string[];
}

export interface EgressNetwork {
  readonly cidr: string;
  /** TCP and UDP; absent for all. */
  readonly ports?: readonly number[] | undefined;
}

export interface SshSessionsOfCluster {
  /**
   * Name of the Secret in the user's namespace to which this host's tokens are bound: deleting it revokes
   * them. Login nodes share it, unless tokens have to end with the last connection to one of them.
   */
  readonly secret: string;
}

/** The kubeconfig on this host with the hook's own token for a cluster. */
export type AdminCredentials =
  | { readonly kind: 'kubeconfig'; readonly file: string; readonly context?: string }
  | {
      readonly kind: 'cluster-api';
      readonly file: string;
      /** Default: `berth-hook@CLUSTER`. */
      readonly context?: string;
      readonly management: ManagementCluster;
    };

/** Access to a management cluster of Cluster API: a kubeconfig on this host; its current context by default. */
export interface ManagementAccess {
  readonly file: string;
  readonly context?: string;
}

/**
 * Where Cluster API keeps an admin's kubeconfig of the cluster, in the Secret `CLUSTER-kubeconfig`. It is
 * used to create the hook's token, never by the hook itself.
 */
export interface ManagementCluster extends ManagementAccess {
  readonly namespace: string;
  readonly cluster: string;
}

export interface PullSecretSettings {
  readonly name: string;
  /** A `.dockerconfigjson` on this host, readable by root. */
  readonly dockerConfigFile: string;
}

/** The credentials of the user's own kubectl. */
export type CredentialSettings =
  /** None: the site or gcloud writes the kubeconfig. */
  | { readonly mode: 'none' }
  | OidcSettings
  | {
      /** A token of a ServiceAccount in the user's namespace, from the TokenRequest API. */
      readonly mode: 'service-account';
      readonly name: string;
      readonly lifetimeSeconds: number;
    }
  /** As OSC's `set-k8s-creds.sh`: client secret and tokens in the user's kubeconfig. */
  | { readonly mode: 'legacy'; readonly oidc: OidcSettings };

/**
 * How a confidential client proves its identity at the token endpoint: `token_endpoint_auth_method` of
 * OpenID Connect Core section 9 and RFC 8705. Keys and certificates are PEM.
 */
export type ClientAuth =
  | {
      readonly method: 'client_secret_basic' | 'client_secret_post';
      readonly secret: string;
    }
  | {
      readonly method: 'private_key_jwt';
      readonly key: string;
      /** The `kid` of the assertion's header. */
      readonly keyId?: string;
    }
  | {
      readonly method: 'tls_client_auth';
      readonly key: string;
      /** With intermediate certificates, if any. */
      readonly certificate: string;
    };

export interface HubAccount {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Unix groups: a hub hears of their members only, and has no other namespaces made. Absent: of everybody. */
  readonly groups?: readonly string[];
}

/** Absent: required. */
export type EmailVerified = 'required' | 'if-present';

export interface OidcSettings {
  readonly mode: 'oidc';
  readonly issuer: string;
  /** PEM bundle for the issuer's certificate. Default: the system's. */
  readonly caFile?: string;
  readonly clientId: string;
  /** Present for a confidential client; then only root's broker refreshes. */
  readonly clientAuth?: ClientAuth;
  /** What the token's `aud` must hold for the API server to take it. */
  readonly audience: string;
  /** Exchange the portal's access token for one with `audience` (RFC 8693). */
  readonly exchange: boolean;
  /** The `scope` of that request: with Keycloak, the client scope that adds the audience. */
  readonly exchangeScope?: string;
  /** That request asks for a refresh token, too, so that kubectl does not use the portal's. */
  readonly ownRefreshToken?: boolean;
  /** The claim with the user name, as in the API server's configuration. */
  readonly usernameClaim: string;
  /** Whether an address may also name the user without `email_verified`, which some providers do not issue. */
  readonly emailVerified?: EmailVerified;
  /** Tolerated difference between the clocks, in seconds. */
  readonly clockSkewSeconds: number;
  /** Which of the portal's tokens is the cluster's credential. */
  readonly token: 'id' | 'access';
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** The identity provider settings of a cluster's credentials, if they need one. */
export function oidcSettingsOf({ credentials }: ClusterSettings): OidcSettings | undefined {
  if (credentials.mode === 'oidc') return credentials;
  return credentials.mode === 'legacy' ? credentials.oidc : undefined;
}
