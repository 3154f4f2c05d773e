import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite, type Site } from '../../rig/site/site.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { isUnknown } from './hostile.ts';
import { hostilePods } from './hostile-pods.ts';

let site: Site;
let admission: AdmissionSite;

/** The API server copies the field into the old annotation, and back: the rule about the other one may be the first. */
const appArmor = {
  ways: /^(?:no AppArmor|a profile of another program)/,
  says: /(?:container\.apparmor\.security\.beta\.kubernetes\.io\/main must be absent|appArmorProfile\.type of container main must be)/,
};

beforeAll(async () => {
  site = await openSite();
  admission = await AdmissionSite.install(site);
});
afterAll(() => admission.remove());

describe('a user with every right in the namespace cannot create a pod with', () => {
  it.each(hostilePods.map((one) => [one.way, one] as const))('%s', async (way, hostile) => {
    const { status, message } = await admission.create(hostile.object);
    if (isUnknown(hostile, site.record.kubernetesMinor)) {
      expect(status).toBe(201);
      return;
    }
    if (appArmor.ways.test(way) && appArmor.says.test(message)) {
      expect(status).toBe(403);
      return;
    }

    expect([status, message]).toEqual([
      403,
      expect.stringContaining(`'${admission.settings.prefix}${hostile.policy}'`),
    ]);
    expect(message).toContain(`denied request: ${hostile.field}`);
    expect(message).toMatch(hostile.wanted);
    expect(message).toMatch(/Ask hpc-help@example\.org\.$/);
  });
});
