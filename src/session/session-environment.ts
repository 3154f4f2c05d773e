import type { Profile } from '../config/profile.ts';
import type { User } from '../identity/user.ts';
import { agentInside, slurmInside } from './profile-mounts.ts';

/** What every client may hand in; sshd's AcceptEnv decides what arrives. */
const always = ['TERM', 'LANG', 'LC_*', 'SSH_CLIENT', 'SSH_CONNECTION', 'SSH_TTY', 'COLORTERM'];

/**
 * The environment inside: the image's own, then the user's name and home, then what the client may
 * hand in, then what the profile sets.
 *
 * @param image `NAME=VALUE` of the container.
 * @param given The environment that sshd made.
 * @param set Filled templates of the profile.
 */
export function sessionEnvironment(
  image: readonly string[],
  given: Readonly<Record<string, string | undefined>>,
  input: {
    readonly profile: Profile;
    readonly user: User;
    readonly shell: string;
    readonly set: Readonly<Record<string, string>>;
    readonly connection?: string;
  },
): Readonly<Record<string, string>> {
  const { profile, user, shell, set, connection } = input;
  const allowed = [
    ...always,
    ...(profile.agent ? ['SSH_AUTH_SOCK'] : []),
    ...(profile.x11 ? ['DISPLAY'] : []),
    ...profile.environment.pass,
  ];
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    value !== undefined && allowed.some((pattern) => fits(name, pattern))
      ? [[name, name === 'SSH_AUTH_SOCK' ? agentInside(value) : value]]
      : [],
  );
  return {
    ...Object.fromEntries(image.map(pair)),
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    SHELL: shell,
    ...Object.fromEntries(passed),
    ...(profile.slurm === undefined ? {} : { SLURM_CONF: `${slurmInside}/slurm.conf` }),
    ...set,
    ...(connection === undefined ? {} : { BERTH_CONNECTION: connection }),
  };
}

function fits(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function pair(text: string): [string, string] {
  const end = text.indexOf('=');
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}
