import type { LogCode } from '../../../system/errors/error-codes.ts';
import type { SubordinateFile } from '../../../system/identity/subordinate-file.ts';
import type { DirectoryIds } from './directory-ids.ts';

/** The formula for a user's first subordinate ID, `base + (UID - firstUid) * size`. The same on every node. No lower UID has one. */
export interface SubordinateLayout {
  readonly firstUid: number;
  readonly base: number;
  /** IDs per user. */
  readonly size: number;
}

/** A user who should have subordinate IDs. */
export interface SubordinateUser {
  readonly name: string;
  readonly uid: number;
  /** The primary group. */
  readonly gid: number;
  /** The supplementary groups; absent if they were not asked for. */
  readonly groups?: readonly number[];
}

export const fileNames = ['subuid', 'subgid'] as const;

export type SubordinateFileName = (typeof fileNames)[number];

export interface SubordinateInput {
  readonly users: readonly SubordinateUser[];
  readonly files: Readonly<Record<SubordinateFileName, SubordinateFile>>;
  /** The machine's accounts (for subuid) and groups (for subgid), which no range may contain. */
  readonly real: Readonly<Record<SubordinateFileName, readonly KnownId[]>>;
  /** What is known of IDs of accounts and groups that are not among these. */
  readonly directory: DirectoryIds;
  readonly layout: SubordinateLayout;
}

/** A fault in the files, or (with an error's code) why a user gets no range. */
export interface SubordinateFault<Code extends LogCode = LogCode> {
  readonly code: Code;
  readonly message: string;
  readonly user?: string;
  readonly uid?: number;
  readonly file?: SubordinateFileName;
  readonly line?: number;
}

/** A UID or GID of the machine, and a description such as `user ada`. */
export interface KnownId {
  readonly id: number;
  readonly name: string;
}
