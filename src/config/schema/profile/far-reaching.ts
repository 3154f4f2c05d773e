import type { Profile } from './profile.ts';

/** What a session may do with more than its own files and processes. */
const reach: Readonly<Record<string, string>> = {
  ALL: 'do in its container whatever root there can',
  DAC_READ_SEARCH: 'read the files of every user of its container',
  NET_ADMIN: 'change routes and packet filters of its container',
  SYS_ADMIN: 'mount file systems, and use most of what the kernel keeps for admins',
  SYS_PTRACE: 'read and change every process in its container, of whichever user',
  '/dev/fuse': 'mount file systems that keep killed processes from ending',
};

/** The kernel asks for these in its first user namespace, in which no container of a user is. */
const withoutEffect = [
  'BPF',
  'MAC_ADMIN',
  'MAC_OVERRIDE',
  'PERFMON',
  'SYSLOG',
  'SYS_BOOT',
  'SYS_MODULE',
  'SYS_RAWIO',
  'SYS_TIME',
];

/** A capability or device of a profile, and one line on what sessions may do with it. */
export interface FarReaching {
  readonly name: string;
  readonly text: string;
}

/** What a profile adds that reaches further than a session's own files and processes, or that does not do what it says. */
export function farReaching({ name: profile, podman, network }: Profile): readonly FarReaching[] {
  const isHostsNetwork = (name: string): boolean => name === 'NET_ADMIN' && network === 'host';
  return [...podman.capabilities.add, ...podman.devices].flatMap((name) => {
    if (withoutEffect.includes(name) || isHostsNetwork(name))
      return [
        {
          name,
          text: `profile ${profile} adds ${name}, which has no effect in containers of users`,
        },
      ];
    const may = reach[name];
    if (may === undefined) return [];
    return [{ name, text: `profile ${profile} adds ${name}: each of its sessions may ${may}` }];
  });
}

/** What to do about it. */
export const farReachingAdvice =
  'remove it from the profile, unless everybody who gets the profile may do that; debuggers of one’s own processes need no capability';
