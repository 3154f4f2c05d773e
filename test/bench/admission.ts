import { AdmissionSite } from '../rig/admission/admission-site.ts';
import { testUser } from '../rig/admission/test-user.ts';
import { measured } from './measured-ratio.ts';
import { median } from './measure.ts';
import type { BenchPart } from './parts.ts';
import { checkBound, printLine } from './report.ts';

const rounds = 200;

/** The time that the admission policies add to the creation of a pod, measured in two namespaces in turn. */
export const admissionCost: BenchPart = {
  title: `${rounds} pods with and without the admission policies`,
  users: [],
  async run({ site }) {
    const admission = await AdmissionSite.install(site);
    try {
      const free = await admission.createUnguardedNamespace();
      const create = admission.podCreator();
      const times: Record<'with' | 'without', number[]> = { with: [], without: [] };
      for (let round = -20; round < rounds; round += 1)
        for (const [name, namespace] of [
          ['with', admission.namespace],
          ['without', free],
        ] as const) {
          const began = performance.now();
          await create(namespace, testUser.pod(`bench-${round + 20}`));
          // The first rounds warm up the connections and the API server.
          if (round >= 0) times[name].push(performance.now() - began);
        }
      const [held, open] = [median(times.with), median(times.without)];
      printLine(`without: ${open.toFixed(2)} ms, with: ${held.toFixed(2)} ms`);
      checkBound(
        'milliseconds that the policies add',
        measured([times.with, times.without], ([a = 0, b = 0]) => a - b),
        { atMost: 3 },
      );
    } finally {
      await admission.remove();
    }
  },
};
