import { AdmissionSite } from '../rig/admission/admission-site.ts';
import { person } from '../rig/admission/person.ts';
import { median } from './measure.ts';
import type { Part } from './parts.ts';
import { ratio, say } from './report.ts';

const rounds = 200;

/** What the policies cost per pod: one user, two namespaces, interleaved, one connection each. */
export const admissionCost: Part = {
  title: `Admission policies: ${rounds} pods with and without`,
  users: [],
  async run({ site }) {
    const admission = await AdmissionSite.install(site);
    try {
      const free = await admission.freeNamespace();
      const create = admission.podMaker();
      const times: Record<'with' | 'without', number[]> = { with: [], without: [] };
      for (let round = -20; round < rounds; round += 1)
        for (const [name, namespace] of [
          ['with', admission.namespace],
          ['without', free],
        ] as const) {
          const began = performance.now();
          await create(namespace, person.pod(`bench-${round + 20}`));
          // The first ones warm up connection and API server.
          if (round >= 0) times[name].push(performance.now() - began);
        }
      const [held, open] = [median(times.with), median(times.without)];
      say(`without: ${open.toFixed(2)} ms, with: ${held.toFixed(2)} ms`);
      ratio('milliseconds that the policies add', held - open, { atMost: 3 });
    } finally {
      await admission.remove();
    }
  },
};
