import type { ErrorCode } from '../errors.ts';

/**
 * What the hook knows about its site once every file was read and checked: frozen values, read from
 * OnDemand's `hook.env` and `clusters.d/*.yml` and from Berth's own `berth.yml`. Nothing behind this
 * door parses or asks the environment again.
 */
export interface SiteSettings {
  /** Accounts below this UID are refused; nginx_stage's own limit is 1000. */
  readonly minimumUid: number;
  /** The longest one hook may take over all clusters, in milliseconds. */
  readonly deadlineMs: number;
  /** Root's own folder for what must survive a login: signing keys, refresh tokens. */
  readonly stateDir: string;
  /** OnDemand's `clusters.d`; its `ood_portal.yml` is beside it. */
  readonly clustersDir: string;
  /** Where the compiled `shell/kube-credential` is installed: the exec plugin of user kubeconfigs. */
  readonly kubeCredentialCommand: string;
  readonly clusters: readonly ClusterSettings[];
  /** What is odd but not wrong in the files: a deprecated key, a secret that all can read. */
  readonly warnings: readonly SettingsWarning[];
}

export interface SettingsWarning {
  readonly code: ErrorCode;
  readonly message: string;
  readonly file: string;
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
  /** `username_prefix`: what the kubeconfig's user entry begins with. */
  readonly usernamePrefix: string;
  /** What the API server puts before a username (its OIDC username prefix): the RBAC subject. */
  readonly subjectPrefix: string;
  readonly admin: AdminCredentials;
  readonly allowedCidrs: readonly string[];
  readonly pullSecret?: PullSecretSettings;
  /** Lets OSC's job-pod-reaper into the namespace. */
  readonly jobPodReaper: boolean;
  /** `spec` of the ResourceQuota, where the site wants one. */
  readonly resourceQuota?: JsonObject;
  /** `spec` of the LimitRange, where the site wants one. */
  readonly limitRange?: JsonObject;
  readonly credentials: CredentialSettings;
  /** Present where SSH sessions may be pods on this cluster. */
  readonly sshSessions?: SshSessionsOfCluster;
}

export interface SshSessionsOfCluster {
  /**
   * Name of the Secret in the user's namespace to which this host's tokens are bound: they are dead
   * when it is gone. Another one for each login node.
   */
  readonly secret: string;
}

/** Where the hook's own token for a cluster is: a kubeconfig on this host. */
export type AdminCredentials =
  | { readonly kind: 'kubeconfig'; readonly file: string; readonly context?: string }
  | {
      readonly kind: 'cluster-api';
      readonly file: string;
      /** `berth-hook@CLUSTER` where absent. */
      readonly context?: string;
      readonly management: ManagementCluster;
    };

/**
 * Where Cluster API keeps an admin's kubeconfig of the cluster, in the secret `CLUSTER-kubeconfig`:
 * for making the hook's token, and not for logins.
 */
export interface ManagementCluster {
  readonly file: string;
  readonly context?: string;
  readonly namespace: string;
  readonly cluster: string;
}

export interface PullSecretSettings {
  readonly name: string;
  /** A `.dockerconfigjson` on this host, readable by root. */
  readonly dockerConfigFile: string;
}

/** How the user's own kubectl proves who it is. */
export type CredentialSettings =
  /** The site manages kubeconfigs itself, or gcloud does. */
  | { readonly mode: 'none' }
  | OidcSettings
  | {
      /** A token of a ServiceAccount in the user's namespace, by TokenRequest. */
      readonly mode: 'service-account';
      readonly name: string;
      readonly lifetimeSeconds: number;
    }
  /** What OSC's `set-k8s-creds.sh` writes: the secret and the tokens in the user's kubeconfig. */
  | { readonly mode: 'legacy'; readonly oidc: OidcSettings };

export interface OidcSettings {
  readonly mode: 'oidc';
  readonly issuer: string;
  /** PEM bundle for the issuer's certificate; the system's where absent. */
  readonly caFile?: string;
  readonly clientId: string;
  /** Present for a confidential client; then only root's broker refreshes. */
  readonly clientSecret?: string;
  /** What the token's `aud` must hold for the API server to take it. */
  readonly audience: string;
  /** RFC 8693: ask the issuer for a token of `audience` in place of the portal's. */
  readonly exchange: boolean;
  /** The `scope` of that request: Keycloak wants the client scope that brings the audience. */
  readonly exchangeScope?: string;
  /** That request asks for a refresh token, too: kubectl then does not use up the portal's. */
  readonly ownRefreshToken?: boolean;
  /** The claim that names the user, as the API server's `username` claim. */
  readonly usernameClaim: string;
  /** Tolerated difference between the clocks, in seconds. */
  readonly clockSkewSeconds: number;
  /** Which of the portal's tokens is the cluster's credential. */
  readonly token: 'id' | 'access';
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}
