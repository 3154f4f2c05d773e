import type { CheckResult, CheckStatus } from '../../system/errors/check-result.ts';
import type { TokenState } from '../../clusters/access/token-state.ts';
import type { Backend } from '../../config/schema/profile/profile.ts';
import type { HostRole } from '../../diagnose/doctor/host-roles.ts';
import type { ListedImage } from '../../setup/images/list-images.ts';
import type { TimerState } from '../../system/systemd-timers.ts';
import { type Time, type DocumentError } from '../kit/document-parts.ts';

/** How good it is, as `berth doctor` says it. */
interface Rated {
  readonly status: CheckStatus;
}

/** berth.yml with the files that belong to it, or ssh.yml with the profiles. */
export interface ConfigurationStatus extends Rated {
  readonly file: string;
  readonly errors: readonly DocumentError[];
  /** When a login first read the files as logins know them; null if that is not known. */
  readonly keptAt: Time | null;
  /** Files that have changed since. The next login reads them. */
  readonly changed: readonly string[];
}

/** A cluster, and what it says to the hook. What is not known is null. */
export interface ClusterStatus extends Rated {
  readonly cluster: string;
  /** URL of the API server. */
  readonly server: string;
  /** Whom the cluster takes the hook for; null if it did not answer. */
  readonly account: string | null;
  readonly milliseconds: number | null;
  /** Of the hook's token; null for a client certificate. */
  readonly token: TokenState['state'] | null;
  readonly tokenIssued: Time | null;
  readonly tokenExpires: Time | null;
  readonly error?: DocumentError;
}

/** A timer of systemd. What is not known, or has not been since the boot, is null. */
export interface TimerStatus
  extends Rated, Pick<TimerState, 'name' | 'enabled' | 'active' | 'running'> {
  readonly lastRun: Time | null;
  readonly result: string | null;
  readonly exitStatus: number | null;
  readonly nextRun: Time | null;
}

/** Sessions of a profile. */
export interface ProfileSessions {
  /** null for shells on the host, and if it was not determined in time. */
  readonly profile: string | null;
  readonly backend: Backend | 'host' | null;
  readonly sessions: number;
  readonly users: number;
}

/** An image of the profiles. */
export interface ImageStatus extends Rated, Pick<ListedImage, 'profiles' | 'damage'> {
  readonly image: string;
  /** `stored`: all layers are there; their files were not compared. */
  readonly state: 'stored' | 'damaged' | 'missing';
}

/** A part of the status. */
export type StatusPart =
  'configuration' | 'drain' | 'clusters' | 'timers' | 'sessions' | 'images' | 'checks';

/** `failed`: it could not be looked at; `skipped`: that was to be expected. */
export interface IncompletePart extends Rated {
  readonly part: StatusPart;
  readonly message: string;
  /** What to do. */
  readonly next?: string;
}

/** What `berth status` finds. */
export interface HostStatus {
  /** Whether nothing failed. */
  readonly ok: boolean;
  readonly host: string;
  readonly version: string;
  readonly roles: readonly HostRole[];
  /** null if the host takes new sessions. */
  readonly drained: { readonly since: Time; readonly by: string; readonly reason: string } | null;
  readonly configuration: readonly ConfigurationStatus[];
  readonly clusters: readonly ClusterStatus[];
  readonly timers: readonly TimerStatus[];
  readonly sessions: readonly ProfileSessions[];
  readonly images: readonly ImageStatus[];
  /** Warnings and failures of the checks that take no time. */
  readonly checks: readonly CheckResult[];
  /** Parts that were not looked at, or not all of them, and why. */
  readonly incomplete: readonly IncompletePart[];
}
