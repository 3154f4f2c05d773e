import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';

/**
 * What root stores about a user's last login, to make the next one faster. If the record is wrong or lost, a login takes
 * one more round trip or parses a file again; the result is the same.
 */
export interface LoginRecord {
  /** Clusters on which the namespace was known to be the user's. */
  readonly clusters: readonly string[];
  /** Digests of the kubeconfigs from `updateKubeconfig`, by file. */
  readonly kubeconfigs?: Readonly<Record<string, string>>;
}

const largestRecord = 64 * 1024;

/** The record; empty if there is none or it is invalid. */
export function readLoginRecord(stateDir: string, user: string): LoginRecord {
  try {
    const text = readPrivateFile(recordPath(stateDir, user), 0, largestRecord);
    const value = JSON.parse(text ?? '{}') as Partial<LoginRecord>;
    return {
      clusters: Array.isArray(value.clusters) ? value.clusters : [],
      ...(value.kubeconfigs instanceof Object && { kubeconfigs: value.kubeconfigs }),
    };
  } catch {
    // Incomplete after a power failure, or not owned by root: it is ignored.
    return { clusters: [] };
  }
}

export function writeLoginRecord(stateDir: string, user: string, record: LoginRecord): void {
  writePrivateFile(recordPath(stateDir, user), JSON.stringify(record));
}

function recordPath(stateDir: string, user: string): string {
  return join(stateDir, 'logins', `${user}.json`);
}
