import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from '../system/private-file.ts';

/**
 * What root remembers of a user's last login. It only makes the next one faster: a wrong or lost
 * record costs a round trip or a parse, never correctness.
 */
export interface LoginRecord {
  /** Clusters on which the namespace was seen to be the user's. */
  readonly clusters: readonly string[];
  /** Digests of the kubeconfigs as they were left, from `updateKubeconfig`, by their files. */
  readonly kubeconfigs?: Readonly<Record<string, string>>;
}

const largestRecord = 64 * 1024;

/** The empty record where there is none or it cannot be read as one. */
export function readLoginRecord(stateDir: string, user: string): LoginRecord {
  try {
    const text = readPrivateFile(recordPath(stateDir, user), 0, largestRecord);
    const value = JSON.parse(text ?? '{}') as Partial<LoginRecord>;
    return {
      clusters: Array.isArray(value.clusters) ? value.clusters : [],
      ...(value.kubeconfigs instanceof Object ? { kubeconfigs: value.kubeconfigs } : {}),
    };
  } catch {
    // Half a record of a power cut, or one that somebody else owns: the login goes the long way.
    return { clusters: [] };
  }
}

export function writeLoginRecord(stateDir: string, user: string, record: LoginRecord): void {
  writePrivateFile(recordPath(stateDir, user), JSON.stringify(record));
}

function recordPath(stateDir: string, user: string): string {
  return join(stateDir, 'logins', `${user}.json`);
}
