import { standardProfile } from '../rig/node/ssh-host.ts';
import type { LoginMode } from '../rig/node/sshd-config.ts';
import { conformance, startHost } from './on-host.ts';

const runtimeSays =
  'an OCI runtime ends with 128 + N, whether the command died of signal N or said so';
const ownTmp = "sshd opens the socket in the host's /tmp, and the session has a /tmp of its own";

/** What a session in a container cannot do behind an unmodified sshd. */
const explained = {
  'a shell that dies of a signal: the client ends with 255': runtimeSays,
  'the name of that signal arrives (AsyncSSH)': runtimeSays,
  '-L: to a remote Unix socket in /tmp': ownTmp,
  '-R: a remote Unix socket in /tmp leads to a local one': ownTmp,
};

const explainedWhenForced = {
  'signals of the client reach the command (AsyncSSH)':
    'sshd hands no signals to a session whose command is forced',
};

const lifetimes = { ada: 'connection', bob: 'user', cleo: '8h' };

/** Users of one login node, each with another lifetime of containers or pods. */
export const usersByLifetime = {
  users: { ada: [], bob: [], cleo: [] },
  sshYml: { rules: Object.keys(lifetimes).map((user) => ({ users: [user], profile: user })) },
};

/** Descriptions of the users, for the names of the tests. */
export const saidOfUsers = each((lifetime) => `lifetime ${lifetime}`);

/** The users' profiles, which extend `base`. */
export function profilesByLifetime(base: object): Readonly<Record<string, object>> {
  return each((lifetime) => ({ ...base, lifetime }));
}

function each<T>(make: (lifetime: string) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(lifetimes).map(([user, lifetime]) => [user, make(lifetime)]),
  );
}

/** Runs the suite against Berth in one of its modes. */
export function conformanceOfBerth(mode: Exclude<LoginMode, 'plain'>, first: number): void {
  const profiles = profilesByLifetime(standardProfile);
  conformance(`Berth as ${mode}`, {
    start: () => startHost({ mode, profiles, ...usersByLifetime }),
    ...{ users: saidOfUsers, first },
    explained: { ...explained, ...(mode === 'forced' ? explainedWhenForced : {}) },
  });
}
