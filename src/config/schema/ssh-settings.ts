import * as z from 'zod/mini';
import { matching, optionalKeys, passing, wholeNumber } from './schema-parts.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import { logFormats } from '../../log.ts';
import { isCidr, isIpv4, isIpv6 } from './ip-address.ts';
import {
  configError,
  configProblemsError,
  type Locate,
  noPosition,
  type ProblemMessage,
  writtenPath,
} from './config-error.ts';
import { deepFreeze } from './deep-freeze.ts';
import { nearestKey } from './nearest-key.ts';
import { backends, type BrokenProfile, type Profile, type SshSettings } from './profile/profile.ts';
import {
  accountName,
  directoryPath,
  isProfileName,
  nonEmptyArray,
} from './profile/profile-schema.ts';
import { isWithin, mountProblem } from './profile/mount-path.ts';
import { schemaMessages } from './schema-messages.ts';

/** `ssh.yml` without the profiles. */
export interface SshOptions extends Omit<SshSettings, 'profiles' | 'broken'> {
  readonly profilesDir: string;
}

const profileName = passing(isProfileName, 'must be the name of a profile: a-z, 0-9 and -');
const balancer = passing(
  (text) => isIpv4(text) || isIpv6(text) || isCidr(text),
  'must be an IP address or a CIDR',
);
const wordMessage = 'must be one word, a-z, 0-9, _ and -, or false';
const commandWord = matching(/^[a-z][a-z0-9_-]{0,31}$/, wordMessage);
const port = wholeNumber(1, 65_535, 'must be a port', 'must be a port');

/** The keys of `ssh.yml`; `SshSettings` explains them. */
export const sshSchema = optionalKeys({
  rules: z.array(
    z.strictObject({
      profile: profileName,
      backend: z.optional(z.enum(backends)),
      users: z.optional(nonEmptyArray(accountName)),
      groups: z.optional(nonEmptyArray(accountName)),
      ports: z.optional(nonEmptyArray(port)),
      on_request: z.optional(z.boolean()),
    }),
  ),
  otherwise: z.enum(['refuse', 'host-shell']),
  host_shell_groups: z.array(accountName),
  balancers: z.array(balancer),
  storage: directoryPath,
  registry_auth: directoryPath,
  profiles_dir: directoryPath,
  balancer_log: directoryPath,
  log_format: z.enum(logFormats),
  self_service: z.union([z.literal(false), commandWord], { error: wordMessage }),
  podman: optionalKeys({
    podman: directoryPath,
    runtime: directoryPath,
    nsenter: directoryPath,
    init: directoryPath,
    cgroup_manager: z.enum(['systemd', 'cgroupfs']),
    // null: the kernel's overlayfs.
    mount_program: z.nullable(directoryPath),
  }),
});
type SshDocument = z.output<typeof sshSchema>;

/**
 * Checks a parsed `ssh.yml`. Defaults: no rules (only `--profile` gives a session); a user without a profile
 * is refused; no host shell; no balancers; /var/lib/berth-ssh and /etc/berth/profiles; `berth`; podman, crun, nsenter and
 * fuse-overlayfs in /usr/bin, catatonit in podman's own directory, cgroups managed by systemd.
 *
 * @throws BerthError `ssh-yml-invalid`, with the path, line and column of each problem; exit 78
 */
export function parseSshSettings(
  document: unknown,
  file: string,
  place: Locate = noPosition,
): SshOptions {
  const source = { file, place };
  const parsed = sshSchema.safeParse(document ?? {}, { reportInput: true });
  if (!parsed.success)
    throw configProblemsError(
      'ssh-yml-invalid',
      source,
      schemaMessages(parsed.error, sshSchema, []),
    );
  const { data } = parsed;
  const { podman = {} } = data;
  const mountProgram =
    podman.mount_program === undefined ? '/usr/bin/fuse-overlayfs' : podman.mount_program;
  const options: SshOptions = {
    rules: (data.rules ?? []).map(ruleOf),
    noSessions: (data.rules?.length === 0 && data.otherwise !== 'host-shell') || undefined,
    otherwise: data.otherwise ?? 'refuse',
    hostShellGroups: data.host_shell_groups ?? [],
    balancers: data.balancers ?? [],
    storage: data.storage ?? '/var/lib/berth-ssh',
    registryAuth: data.registry_auth,
    balancerLog: data.balancer_log,
    logFormat: data.log_format ?? 'logfmt',
    ...(data.self_service !== false && { selfService: data.self_service ?? 'berth' }),
    profilesDir: data.profiles_dir ?? '/etc/berth/profiles',
    podman: {
      podman: podman.podman ?? '/usr/bin/podman',
      runtime: podman.runtime ?? '/usr/bin/crun',
      nsenter: podman.nsenter ?? '/usr/bin/nsenter',
      init: podman.init ?? '/usr/libexec/podman/catatonit',
      cgroupManager: podman.cgroup_manager ?? 'systemd',
      ...(mountProgram !== null && { mountProgram }),
    },
  };
  const problems = [...contradictions(options)];
  if (problems.length > 0) throw configProblemsError('ssh-yml-invalid', source, problems);
  return deepFreeze(options);
}

function ruleOf(rule: NonNullable<SshDocument['rules']>[number]): SshOptions['rules'][number] {
  const { profile, backend, users, groups, ports, on_request: onRequest } = rule;
  return {
    profile,
    backend,
    users,
    groups,
    ports,
    onRequest,
  };
}

function* contradictions(options: SshOptions): Generator<ProblemMessage> {
  if (options.otherwise === 'host-shell' && options.hostShellGroups.length === 0) {
    const text =
      'otherwise: host-shell needs host_shell_groups, the groups that may have a shell on the host';
    yield { path: ['otherwise'], text };
  }
  if (mountProblem(options.storage) !== undefined) {
    const text =
      'storage must be a separate directory, outside of /etc/berth, /run/berth and /run/user';
    yield { path: ['storage'], text };
  }
  if (isWithin(options.profilesDir, options.storage)) {
    const text = 'profiles_dir must not be in storage, where users have their own directories';
    yield { path: ['profiles_dir'], text };
  }
}

/**
 * Combines `ssh.yml` and the profiles. A profile that mounts the site's storage is broken; so is one that a
 * rule names and that does not exist.
 *
 * @param read by name, each profile or the error in its file
 * @param file path of `ssh.yml`, for errors
 * @param place positions of its values
 */
export function sshSettings(
  options: SshOptions,
  read: ReadonlyMap<string, Profile | BrokenProfile>,
  file: string,
  place: Locate = noPosition,
): SshSettings {
  const { profilesDir, ...settings } = options;
  const profiles = new Map<string, Profile>();
  const broken = new Map<string, BrokenProfile>();
  for (const [name, one] of read) {
    if ('error' in one) {
      broken.set(name, one);
      continue;
    }
    const error = storageMounted(one, options);
    if (error === undefined) profiles.set(name, one);
    else broken.set(name, { error, groups: one.groups });
  }
  for (const [index, { profile }] of options.rules.entries()) {
    if (profiles.has(profile) || broken.has(profile)) continue;
    const near = nearestKey(profile, [...profiles.keys()]);
    const hint =
      near === undefined ? `Write ${profilesDir}/${profile}.yml.` : `Did you mean ${near}?`;
    const path = ['rules', index, 'profile'];
    const missing = { path, text: `${writtenPath(path)}: there is no profile ${profile}` };
    broken.set(profile, {
      error: configProblemsError('profile-missing', { file, place }, [missing], hint, { profile }),
    });
  }
  return Object.freeze({ ...settings, profiles, broken });
}

function storageMounted(
  { name, mounts }: Profile,
  { storage, profilesDir }: SshOptions,
): BerthError | undefined {
  for (const [index, { source }] of mounts.entries()) {
    const problem = source.startsWith('/') ? mountProblem(source, storage) : undefined;
    if (problem === undefined) continue;
    const file = `${profilesDir}/${name}.yml`;
    const hint = 'Mount another directory, or a subdirectory that does not contain it.';
    const message = `mounts.${index + 1}.source ${problem}`;
    return configError('profile-invalid', file, message, hint, { profile: name });
  }
  return undefined;
}
