import type { BerthError } from '../../../system/errors/berth-error.ts';
import {
  configError,
  configProblemsError,
  type Locate,
  noPosition,
  type ProblemMessage,
} from '../config-error.ts';
import { deepFreeze } from '../deep-freeze.ts';
import { batchFields } from './batch-fields.ts';
import { podFields } from './pod-fields.ts';
import type { BrokenProfile, Lifetime, Profile, ProfileMount, Timeouts } from './profile.ts';
import { profileContradictions } from './profile-contradictions.ts';
import {
  accountName,
  isProfileName,
  nonEmptyArray,
  type ProfileDocument,
  profileSchema,
} from './profile-schema.ts';
import { schemaMessages } from '../schema-messages.ts';

const minute = 60_000;

/** Defaults (docs/ssh-profiles.md). */
const builtIn = {
  mounts: [{ source: '$HOME', readOnly: false, missing: 'fail' }],
  graceMs: 10 * minute,
  deadlineMs: 30_000,
  slurm: { config: '/etc/slurm', munge: '/run/munge' },
} as const;

/**
 * Checks a parsed `profiles/NAME.yml`, adds defaults and freezes it.
 *
 * The defaults: no pull, a container per connection, only the home mounted, the host's network and name, X11 (with
 * the host's network) and agent forwarding into the container, no limits, 30 s for a start, refuse on failure.
 *
 * @param document Plain values, as `parseYaml` returns them.
 * @throws {BerthError} `profile-name-invalid`; `profile-invalid`, which names each key with its path and line, and
 *   the nearest known key for an unknown one; exit 78
 */
export function parseProfile(
  document: unknown,
  name: string,
  file: string,
  place: Locate = noPosition,
): Profile {
  const invalid = (problems: readonly ProblemMessage[]): BerthError =>
    configProblemsError('profile-invalid', { file, place }, problems, undefined, { profile: name });
  if (!isProfileName(name)) {
    const hint = 'Use a-z, 0-9 and `-`, at most 40 characters, no `-` at its ends.';
    throw configError('profile-name-invalid', file, 'is not a valid profile name', hint);
  }
  const parsed = profileSchema.safeParse(document ?? {}, { reportInput: true });
  if (!parsed.success) throw invalid(schemaMessages(parsed.error, profileSchema, []));
  const problems = profileContradictions(parsed.data);
  if (problems.length > 0) throw invalid(problems);
  return deepFreeze(profileOf(name, parsed.data));
}

/** What is kept of an invalid profile: its groups, if they are valid. */
export function brokenProfile(error: BerthError, document?: unknown): BrokenProfile {
  if (typeof document === 'object' && document !== null && 'groups' in document) {
    const groups = nonEmptyArray(accountName).safeParse(document.groups);
    if (groups.success) return { error, groups: Object.freeze(groups.data) };
  }
  return { error };
}

function profileOf(name: string, document: ProfileDocument): Profile {
  const { image, hostname, shell, slurm, groups, on_failure: failure, podman, batch } = document;
  const network = document.network ?? 'host';
  return {
    name,
    backend: document.backend ?? 'podman',
    image,
    pull: document.pull ?? 'never',
    lifetime: lifetimeOf(document),
    timeouts: timeoutsOf(document),
    mounts: document.mounts?.map(mountOf) ?? builtIn.mounts,
    network,
    hostname,
    environment: { pass: document.environment?.pass ?? [], set: document.environment?.set ?? {} },
    shell,
    limits: defined(document.limits ?? {}),
    // sshd listens for X11 on the host's loopback, which only the host's network reaches.
    x11: document.x11 ?? network === 'host',
    agent: document.agent ?? true,
    notices: document.notices ?? true,
    selfService: document.self_service ?? true,
    ...(slurm && { slurm: { ...builtIn.slurm, ...defined(slurm) } }),
    groups,
    failure: {
      action: failure?.action ?? 'refuse',
      ...(failure?.image !== undefined && { image: failure.image }),
      groups: failure?.groups ?? [],
    },
    deadlineMs: document.deadline ?? builtIn.deadlineMs,
    podman: {
      devices: podman?.devices ?? [],
      capabilities: {
        add: podman?.capabilities?.add ?? [],
        drop: podman?.capabilities?.drop ?? [],
      },
      ...(podman?.selinux !== undefined && { selinux: podman.selinux }),
    },
    pod: podFields(document.pod),
    batch: batchFields(batch),
  };
}

function lifetimeOf({ lifetime, grace, linger = false }: ProfileDocument): Lifetime {
  if (lifetime === undefined || lifetime === 'connection') return { kind: 'connection' };
  if (lifetime === 'user') return { kind: 'user', graceMs: grace ?? builtIn.graceMs, linger };
  // Its hard limit ends it.
  return { kind: 'user', graceMs: lifetime, linger };
}

function timeoutsOf({ lifetime, timeouts = {} }: ProfileDocument): Timeouts {
  const { idle, soft, hard, warn } = timeouts;
  return {
    idleMs: idle,
    softMs: soft,
    hardMs: typeof lifetime === 'number' ? lifetime : hard,
    warnMs: warn,
  };
}

function mountOf(mount: NonNullable<ProfileDocument['mounts']>[number]): ProfileMount {
  return {
    source: mount.source,
    target: mount.target,
    readOnly: mount.read_only ?? false,
    missing: mount.missing ?? 'fail',
  };
}

/** Leaves out keys whose value is undefined, for `exactOptionalPropertyTypes`. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
