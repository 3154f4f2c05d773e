import {
  mountArgs,
  profileRunArgs,
  type ResolvedMount,
} from '../../../sessions/backends/podman/argv/podman-run.ts';
import { podmanDirectoryScript } from '../../../sessions/backends/slurm/argv/podman-directory-script.ts';
import { sbatchOptions } from '../../../sessions/backends/slurm/argv/sbatch-options.ts';
import type { Profile, ProfileMount, SshSettings } from '../../../config/schema/profile/profile.ts';
import {
  profileEnvironment,
  profileMounts,
} from '../../../sessions/request/session-environment.ts';
import { refuseTimeLimits } from './refuse-time-limits.ts';
import { bashFill, bashLines, bashWord } from '../../../sessions/request/bash-words.ts';

/**
 * A profile as a job script of Slurm: the `#SBATCH` lines that ask for what the profile says, and a function of bash that
 * runs a command in a container like that of a session.
 *
 * The limits are Slurm's: the container stays in the cgroup of the job and ends with it. Podman keeps the container in a
 * directory of the job, so that jobs on one node, and sessions, do not depend on each other.
 *
 * @param settings where podman and the shared images are on the compute nodes
 * @throws {BerthError} `time-limit-unsupported`
 */
export function sbatchScript(
  profile: Profile,
  settings: Pick<SshSettings, 'podman' | 'storage'>,
): string {
  refuseTimeLimits(profile, 'batch jobs', 'stays when idle');
  return jobScript(profile, settings, {
    about: `The profile ${profile.name} as a batch job, printed by \`berth render sbatch ${profile.name}\`.`,
    run: `# What the job runs: the command in \`sbatch FILE COMMAND …\`, or these last lines. Edit them.
if [ $# -gt 0 ]; then
  in_container "$@"
else
  in_container sh -c 'id; pwd'
fi
`,
  });
}

/** A job script whose last lines run commands with `in_container`. */
export function jobScript(
  profile: Profile,
  settings: Pick<SshSettings, 'podman' | 'storage'>,
  { about, options = {}, before = '', run }: JobLines,
): string {
  const lines = sbatchOptions(profile, options).map((option) => `#SBATCH ${option}\n`);
  return `#!/bin/bash
${lines.join('')}# ${about}

${before}${containerFunction(profile, settings)}
${run}`;
}

interface JobLines {
  readonly about: string;
  /** Options of sbatch(1) that replace those of the profile; one that takes no value has ''. */
  readonly options?: Readonly<Record<string, string>>;
  /** Lines before the container is prepared, which starts in the working directory. */
  readonly before?: string;
  readonly run: string;
}

/**
 * bash: the function `in_container COMMAND [ARGUMENT]…`, and what it needs.
 *
 * @param passed names of variables that the container gets besides
 */
export function containerFunction(
  profile: Profile,
  settings: Pick<SshSettings, 'podman' | 'storage'>,
  passed: readonly string[] = [],
): string {
  const { always, optional } = jobMounts(profile);
  const environment = { HOME: '$HOME', USER: '$USER', LOGNAME: '$USER' };
  const run = [
    '--rm',
    '--interactive',
    '--cgroups',
    'disabled',
    '--userns',
    'keep-id',
    '--group-add',
    'keep-groups',
    '--passwd-entry',
    passwdLine(profile),
    '--log-driver',
    'none',
    '--init',
    '--init-path',
    settings.podman.init,
    ...always,
    ...Object.entries(environment).flatMap(([name, value]) => [
      '--env',
      `${name}=${bashFill(value)}`,
    ]),
    ...Object.entries(profileEnvironment(profile, bashFill)).flatMap(([name, value]) => [
      '--env',
      `${name}=${value}`,
    ]),
    '--entrypoint',
    '[]',
  ];
  return `set -euo pipefail

# Of the job's environment, only these variables are passed to the container and to podman.
passed=() dropped=()
for name in $(compgen -e); do
  case $name in
    ${[...passedPatterns(profile), ...passed].join(' | ')}) passed+=(--env "$name") ;;
    *) dropped+=("$name") ;;
  esac
done

${podmanDirectoryScript(settings)}trap remove_state EXIT

${workingDirectory(profile)}
container=(
  ${bashLines(run)}
)
${optional.join('')}in_container() {
  podman_of_job run "\${passed[@]}" "\${container[@]}" --workdir "$workdir" ${bashWord(profile.image)} "$@"
}
`;
}

function passwdLine({ shell = '/bin/sh' }: Profile): string {
  const [name, uid, gid, home] = ['$USER', '$UID', '$GID', '$HOME'].map(bashFill);
  return `${name}:*:${uid}:${gid}::${home}:${shell}`;
}

/** Patterns of `case` for the names of variables: what Slurm sets for a job, and what clients of sessions may set. */
function passedPatterns({ environment }: Profile): string[] {
  const ofSlurm = ['SLURM_*', 'CUDA_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES'];
  return ['TERM', 'LANG', 'LC_*', ...ofSlurm, ...environment.pass];
}

/** What the profile says of the container, and lines that add the mounts whose source may be missing. */
function jobMounts(profile: Profile): {
  readonly always: readonly string[];
  readonly optional: readonly string[];
} {
  // No agent is forwarded into a job, and the limits are Slurm's.
  const ofJob: Profile = { ...profile, agent: false, limits: {} };
  const mounts = profileMounts(ofJob).map((mount) => ({
    ...filled(mount),
    missing: mount.missing,
  }));
  const skipped = mounts.filter(({ missing }) => missing === 'skip');
  const taken = new Set(skipped.flatMap((mount) => mountArgs(mount).slice(1)));
  const args = profileRunArgs(ofJob, mounts, bashFill);
  return {
    always: args.filter((word, index) => !taken.has(word) && !taken.has(args[index + 1] ?? '')),
    optional: skipped.map(
      (mount) =>
        `[ ! -e ${bashWord(mount.source)} ] || container+=(${mountArgs(mount).map(bashWord).join(' ')})\n`,
    ),
  };
}

function filled({ source, target = source, readOnly }: ProfileMount): ResolvedMount {
  return { source: bashFill(source), target: bashFill(target), readOnly };
}

/** The directory that the job was submitted from, if the container has it at the same path. */
function workingDirectory({ mounts }: Profile): string {
  const same = mounts.filter(({ source, target = source }) => source === target);
  const patterns = same.map(({ source }) => `${bashWord(bashFill(source))}/*`);
  if (patterns.length === 0) return 'workdir=/';
  const home = same.some(({ source }) => /^\$(HOME|\{HOME\})$/.test(source)) ? '$HOME' : '/';
  return `# The directory that the job was submitted from, if the container has it.
case $PWD/ in
  ${patterns.join(' | ')}) workdir=$PWD ;;
  *) workdir=${home} ;;
esac`;
}
