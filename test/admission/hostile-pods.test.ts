import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite } from '../site/site.ts';
import { AdmissionSite } from './admission-site.ts';
import { hostilePods } from './hostile-pods.ts';

let admission: AdmissionSite;

beforeAll(async () => {
  admission = await AdmissionSite.install(await openSite());
});
afterAll(() => admission.remove());

describe('a user with every right in the namespace may not make a pod with', () => {
  it.each(hostilePods.map((one) => [one.way, one] as const))('%s', async (_, hostile) => {
    const { status, message } = await admission.create(hostile.object);

    expect([status, message]).toEqual([
      403,
      expect.stringContaining(`'${admission.settings.prefix}${hostile.policy}'`),
    ]);
    expect(message).toContain(`denied request: ${hostile.field}`);
    expect(message).toMatch(hostile.wanted);
    expect(message).toMatch(/Ask hpc-help@example\.org\.$/);
  });
});
