import { expect } from 'vitest';
import type { AdmissionResponse } from '../../rig/admission/admission-response.ts';
import type { AdmissionSite } from '../../rig/admission/admission-site.ts';
import type { HostileObject } from './hostile.ts';

/** The answer is a refusal by this policy, whose message names the field, the value and whom to ask. */
export function expectRefusal(
  { settings }: AdmissionSite,
  { status, message }: AdmissionResponse,
  { policy, field, wanted }: Pick<HostileObject, 'policy' | 'field' | 'wanted'>,
): void {
  const name = `'${settings.prefix}${policy}'`;
  expect([status, message]).toEqual([403, expect.stringContaining(name)]);
  expect(message).toContain(`denied request: ${field}`);
  expect(message).toContain(wanted);
  expect(message).toMatch(/Ask hpc-help@example\.org\.$/);
}
