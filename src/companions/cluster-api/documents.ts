/** What happened to a cluster's part of the configuration, or would. */
export interface DiscoveredChange {
  /** OnDemand's name. */
  readonly name: string;
  /** `NAMESPACE/NAME` of the Cluster. */
  readonly cluster: string;
  readonly change: 'new' | 'changed' | 'unchanged' | 'removed' | 'skipped';
  /** Why it was skipped. */
  readonly reason?: string;
  /** True if it was skipped because of an error that somebody has to correct. */
  readonly failed?: true;
  readonly endpoint?: string;
  /** How users authenticate there. */
  readonly credentials?: 'oidc' | 'service-account';
  /** Files that were written or removed. */
  readonly files: readonly string[];
}

/** What the companion prints with `-o json`, by its kind. */
export interface Documents {
  /** `berth clusters discover` */
  readonly ClusterDiscovery: {
    readonly dryRun: boolean;
    readonly clusters: readonly DiscoveredChange[];
    readonly next: readonly string[];
  };
}
