import type { Backend } from '../../config/schema/profile/profile.ts';
import type { ImageArchive } from '../images/image-archive.ts';
import type { ClusterAnswers } from './cluster-setup.ts';
import type { KindMode } from '../sshd-kinds/rules/kind-config.ts';
/** What an admin is asked about a login node. */
export interface LoginNodeAnswers {
  readonly backend: Backend;
  /** The cluster of sessions in pods. */
  readonly cluster?: ClusterAnswers;
  /** The partition of jobs; empty: Slurm's default. */
  readonly partition: string;
  /** Pods: install the admission policies on a cluster that has none. */
  readonly policies: boolean;
  readonly image: string;
  /** Accounts that may log in. */
  readonly users: readonly string[];
  readonly port: number;
  /** IP addresses that the sshd listens on; none means all. */
  readonly addresses: readonly string[];
  readonly mode: KindMode;
  readonly pull: boolean;
  /** In place of a registry. */
  readonly archive?: ImageArchive | undefined;
  readonly start: boolean;
}
