import { admissionCost } from './admission.ts';
import { clusterScale } from './clusters.ts';
import { credentialPlugin } from './credential.ts';
import { firstLogin, laterLogin, manyLogins } from './logins.ts';
import { namespaceScale } from './namespaces.ts';
import type { OscHooks } from './osc.ts';
import type { Bench } from './bench-portal.ts';

export interface BenchPart {
  readonly title: string;
  /** Accounts that the part needs. */
  readonly users: readonly string[];
  run(bench: Bench, osc: OscHooks | undefined): Promise<void>;
}

/** The parts, by the name on the command line. */
export const benchParts: Readonly<Record<string, BenchPart | undefined>> = {
  later: laterLogin,
  first: firstLogin,
  many: manyLogins,
  credential: credentialPlugin,
  clusters: clusterScale,
  namespaces: namespaceScale,
  admission: admissionCost,
};

export function usersOf(names: readonly string[]): readonly string[] {
  return [...new Set(names.flatMap((name) => benchParts[name]?.users ?? []))];
}
