import { expect, it } from 'vitest';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import { podCluster } from '../../../../../src/sessions/backends/pod/pod-cluster.ts';
import { site } from '../../../config/schema/site-from-texts.ts';

/** The cluster of a profile, on a login node with the portal's file of the cluster (`auth: oidc`) and without hook.env. */
function chosen(pod: object, credentials: string): string {
  const berth = `clusters: {prod: {ssh_sessions: {}${credentials}}}`;
  const profile = parseProfile({ backend: 'pod', image: 'a', pod }, 'p', 'p.yml');
  return podCluster(profile, site({ berth, hookEnv: '' })).name;
}

it.each([{}, { cluster: 'prod' }])(
  'the reason why the cluster of the sessions cannot be used is named: %j',
  (pod) => {
    expect(() => chosen(pod, '')).toThrow(
      /credentials need an OIDC client, and none is configured/,
    );
  },
);

it('a login node can use the portal’s file of the cluster', () => {
  expect(chosen({}, ', credentials: {mode: none}')).toBe('prod');
});
