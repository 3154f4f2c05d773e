import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { countText } from '../../src/system/text/count-text.ts';

const root = new URL('../..', import.meta.url).pathname;

const nouns =
  'accounts addresses bytes certificates changes characters clusters connections containers days directories entries errors files findings groups hosts hours images keys kinds lines minutes namespaces nodes objects pods ports problems processes profiles seconds sessions times tokens users values warnings';

/** What is not a count, and counts that cannot be one: the code above them has compared them with one. */
const neverOne: Readonly<Record<string, readonly string[]>> = {
  'src/companions/balancer/check-nodes.ts': ['seconds'],
  'src/cli/kit/text.ts': ['Math.round(hours / 24)'],
  'src/cli/clusters/reap.ts': ['deleted'],
  'src/cli/sessions/select.ts': ['select'],
  'src/cli/subid/subid-report.ts': ['problems.length'],
  'src/config/schema/hook-env/hook-env.ts': ['bytes.length'],
  'src/credentials/kubeconfig/read-kubeconfig.ts': ['status.size'],
  'src/credentials/oidc/verify-token.ts': ['jwt.length'],
  'src/cli/self-service/command-words.ts': ['word'],
  'src/setup/images/load-archive.ts': ['loaded.length'],
  'src/setup/images/pull-images.ts': ['names.length'],
  'src/clusters/ldap/ldap-sync.ts': ['of'],
  'src/directory/rules/ldap-users.ts': ['all.length'],
  'src/clusters/ldap/sync-cluster.ts': ['size'],
  'src/sessions/backends/podman/podman-as-user.ts': ['what'],
  'src/sessions/forwarding/protocol/frames.ts': ['size'],
  'src/sessions/forwarding/protocol/multiplexed-connection.ts': ['payload.length', 'count'],
  'src/sessions/backends/pod/pod-cluster.ts': ['open.length'],
  'src/sessions/backends/pod/presence/session-secret.ts': ['attempts'],
  'src/setup/sshd-lint/rules/environment-findings.ts': ['assignment'],
  'src/setup/subid/read-accounts.ts': ['names.length'],
  'src/system/config-files.ts': ['status.size'],
  'src/system/user-file.ts': ['status.size'],
};

const limit = /^(?:longest|largest|max|most)/;

it('is 1 process, 2 processes, 0 sessions', () => {
  expect([countText(1, 'process'), countText(2, 'process'), countText(0, 'session')]).toEqual([
    '1 process',
    '2 processes',
    '0 sessions',
  ]);
});

it('is written by countText wherever a message counts', () => {
  const pattern = new RegExp(
    `(?<! of (?:the )?)\\$\\{([^{}]*)\\} (?:\\w+ )?(?:${nouns.replaceAll(' ', '|')})\\b`,
    'g',
  );
  const wrong = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(root + file, 'utf8').matchAll(pattern)]
      .map(([, count = '']) => count)
      .filter((count) => !limit.test(count) && !(neverOne[file] ?? []).includes(count))
      .map((count) => `${file}: ${count}`),
  );
  expect(wrong).toEqual([]);
});
