import type { VerifiedCase } from './verify-host.ts';

/** What `berth verify` tried, on which server. */
export interface VerificationReport {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Whether no case failed, and the run was not interrupted. */
  readonly ok: boolean;
  readonly cases: readonly VerifiedCase[];
}

/** What the companion prints with `-o json`, by its kind. */
export interface Documents {
  /** `berth verify` */
  readonly Verification: VerificationReport & {
    readonly summary: Readonly<Record<VerifiedCase['result'], number>>;
  };
}
