import { NodesBehindBalancer } from '../rig/balancer/nodes-behind-balancer.ts';
import { standardProfile } from '../rig/login-node/ssh-host.ts';
import type { LoginMode } from '../rig/login-node/sshd-config.ts';
import { knownFailures } from '../../src/companions/verify/suite.ts';
import { conformance } from './define-tests.ts';

const lifetimes = { ada: 'connection', bob: 'user', cleo: '8h' };

/** Options for a login node with three users, each with a profile of another `lifetime`. */
export const usersByLifetime = {
  users: { ada: [], bob: [], cleo: [] },
  sshYml: { rules: Object.keys(lifetimes).map((user) => ({ users: [user], profile: user })) },
};

/** The users' lifetimes, for the names of the tests. */
export const userTitles = each((lifetime) => `lifetime ${lifetime}`);

/** A profile for each user: `base` with the user's lifetime. */
export function profilesByLifetime(base: object): Readonly<Record<string, object>> {
  return each((lifetime) => ({ ...base, lifetime }));
}

function each<T>(make: (lifetime: string) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(lifetimes).map(([user, lifetime]) => [user, make(lifetime)]),
  );
}

/** Whether a balancer sends all connections of a client to one node. The modes differ, so that both are tested. */
export const together = { forced: false, 'login-shell': true };

/**
 * Defines the tests of the conformance cases against Berth with Podman, on three login nodes behind a balancer.
 *
 * @param first index of the user who runs the first case
 */
export function berthConformance(mode: Exclude<LoginMode, 'plain'>, first: number): void {
  const profiles = profilesByLifetime(standardProfile);
  conformance(`Berth as ${mode}, behind a balancer`, {
    start: async () => {
      const site = await NodesBehindBalancer.start(
        { together: together[mode] },
        { mode, profiles, ...usersByLifetime },
      );
      return { host: site.front, stop: () => site.stop() };
    },
    ...{ users: userTitles, first },
    expectedFailures: knownFailures(mode === 'forced' ? ['podman', 'forced'] : ['podman']),
  });
}
