/**
 * `npm run test:versions [-- 1.33 1.34]`: tests with the given versions of Kubernetes, or with all but the
 * newest. The chosen tests cover every kind of request: logins, plan, doctor, admission, a session in a pod,
 * reaping, LDAP. Stops the site afterwards, so that the next tests use the newest version.
 */
import '../scripts/check-node.ts';
import { execa } from 'execa';
import { kubernetesMinors, newestMinor, requestedMinor } from './rig/site/kubernetes/versions.ts';
import { say } from './rig/site/progress.ts';
import { stopSite } from './rig/site/start.ts';

const files = [
  ...['first-login', 'later-login', 'plan'].map((name) => `site/portal/${name}`),
  'site-exclusive/portal/guard',
  ...['hostile-pods', 'hostile-requests', 'manifests', 'without-defaults'].map(
    (name) => `site-exclusive/admission/${name}`,
  ),
  ...[
    'site-exclusive/doctor/admission',
    'site/doctor/user',
    'site/reconcile/accepted-values',
    'site-exclusive/ssh/pod/session',
  ],
  ...['site-exclusive/cluster-reap/reap', 'site/ldap/sync'],
].map((name) => `test/${name}.test.ts`);

const vitest = new URL('../node_modules/.bin/vitest', import.meta.url).pathname;
const asked = process.argv.slice(2).map((minor) => requestedMinor(minor));
const minors = asked.length > 0 ? asked : kubernetesMinors.filter((each) => each !== newestMinor);

const failed: string[] = [];
try {
  for (const minor of minors) {
    say(`Kubernetes ${minor}`);
    const { exitCode } = await execa(vitest, ['run', ...files], {
      ...{ stdio: 'inherit', reject: false },
      env: { BERTH_TEST_KUBERNETES: minor, BERTH_SOAK: '' },
    });
    if (exitCode !== 0) failed.push(minor ?? '');
  }
} finally {
  await stopSite();
}
say(
  failed.length === 0
    ? `all tests passed with ${minors.join(', ')}`
    : `tests FAILED with ${failed.join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
