import { berthDocument } from '../berth-document.ts';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { expect } from 'vitest';
import type { Portal } from './portal.ts';

/** The result of `berth doctor -o json`. */
export interface DoctorReport {
  readonly exitCode: number;
  readonly checks: readonly CheckResult[];
}

export async function runDoctor(portal: Portal, ...args: string[]): Promise<DoctorReport> {
  const { exitCode, stdout, stderr } = await portal.berth('doctor', '-o', 'json', ...args);
  if (stdout === '') throw new Error(stderr);
  return { exitCode, checks: (berthDocument(stdout) as { checks: CheckResult[] }).checks };
}

/** Checks of what all tests share: beside those of `site` runs a file that may have taken the guard or a role away. */
const shared = ['guard', 'cluster-roles', 'excess-rights'];

const left = ['admission', 'object-counts'];

/**
 * Failed checks and warnings as `id status`, of one cluster or of all. Each must have a next step. The warning
 * that the admission policies are not installed is left out: on the test site they have other names
 * (test/site-exclusive/doctor/admission.test.ts); so is that about the number of objects, of which most tests have no quota.
 */
export function problems({ checks }: DoctorReport, cluster?: string): string[] {
  return checks
    .filter(({ status }) => status === 'failed' || status === 'warning')
    .filter(({ id, status }) => !(left.includes(id) && status === 'warning'))
    .filter(({ id }) => process.env.BERTH_TEST_PROJECT !== 'site' || !shared.includes(id))
    .filter((one) => cluster === undefined || one.cluster === cluster)
    .map(({ id, status, next }) => {
      expect(next).toMatch(/\w/);
      return `${id} ${status}`;
    });
}

export function findCheck({ checks }: DoctorReport, id: string): CheckResult {
  const found = checks.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no check ${id}`);
  return found;
}
