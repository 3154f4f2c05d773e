/** An association of slurmdbd, with its own limits only, not those of the accounts above it. */
export interface LiveAssociation {
  readonly account: string;
  readonly parent: string;
  /** Empty for the account's own. */
  readonly user: string;
  /** Empty for all partitions. */
  readonly partition: string;
  readonly defaultQos: string;
  readonly qos: readonly string[];
  /** `MaxSubmitJobs`; undefined for none. */
  readonly maxSubmit: number | undefined;
}

/** What slurmdbd has of one cluster. */
export interface LiveAccounts {
  readonly associations: readonly LiveAssociation[];
  /** Each user's default account. */
  readonly defaults: ReadonlyMap<string, string>;
  /** Lines of sacctmgr(1) that are left out. */
  readonly unread: readonly string[];
}
