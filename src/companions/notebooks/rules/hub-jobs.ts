import { sessionTimeLimit } from '../../../sessions/backends/slurm/argv/sbatch-options.ts';
import type { Profile, SshSettings } from '../../../config/schema/profile/profile.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { bashWord } from '../../../sessions/request/bash-words.ts';
import { sourceText } from '../../../system/program/source-text.ts';
import { cullingArgs, memoryText, type HubProfile } from './hub-profile.ts';
import { jobScript } from './sbatch.ts';
import { refuseTimeLimits } from './refuse-time-limits.ts';

/** The jobs of a hub: whom sudo lets submit them, and where their scripts are on the hub's host. */
export interface HubJobs {
  /** The account that the hub runs as. */
  readonly account: string;
  readonly directory: string;
}

/** A choice in the hub's form, and the profile that its job is of. */
interface JobChoice {
  readonly choice: HubProfile;
  readonly profile: Profile;
}

/**
 * A notebook server of a profile, in a job of Slurm. The choice has the name of the profile.
 *
 * @param pods names that are choices for pods: the job's is `NAME-slurm` then
 * @throws {BerthError} `hub-job-unsupported`, `time-limit-unsupported`
 */
export function hubJobProfile(profile: Profile, pods: readonly string[]): JobChoice {
  const { image, groups, network, limits, batch } = profile;
  refuseTimeLimits(profile, 'notebook servers', 'ends when idle');
  if (groups === undefined)
    throw unsupported(
      profile,
      'has no groups: sudo needs them to know for whom the hub may submit',
    );
  if (network !== 'host')
    throw unsupported(
      profile,
      `has the network ${network}: the hub can reach servers only with network: host`,
    );
  const parts = [
    ...(batch.partition === undefined ? [] : [`partition ${batch.partition}`]),
    ...(batch.gres === undefined ? [] : [batch.gres]),
    ...(limits.cpus === undefined ? [] : [`${limits.cpus} CPU`]),
    ...(limits.memory === undefined ? [] : [memoryText(limits.memory)]),
  ];
  const description = [`${image} in Slurm`, ...parts].join(', ');
  const name = pods.includes(profile.name) ? `${profile.name}-slurm` : profile.name;
  return { choice: { name, description, groups, backend: 'slurm', traits: {} }, profile };
}

function unsupported({ name }: Profile, problem: string): BerthError {
  return new BerthError('hub-job-unsupported', `the profile ${name} ${problem}`);
}

/** The scripts, NAME.sh, the one that ends such a job, and the lines for sudo, by file name. */
export function hubJobFiles(
  jobs: HubJobs,
  choices: readonly JobChoice[],
  settings: Pick<SshSettings, 'podman' | 'storage'>,
): Record<string, string> {
  return {
    ...Object.fromEntries(
      choices.map(({ choice, profile }) => [
        `${choice.name}.sh`,
        jobScriptOf(profile, choice.name, settings),
      ]),
    ),
    end: endScript,
    sudoers: sudoers(
      jobs,
      choices.map(({ choice }) => choice),
    ),
  };
}

const jobName = (name: string): string => `berth-hub-${name}`;

/** The script of such a job: the server, in the container of the profile, with the variables of the hub. */
function jobScriptOf(
  profile: Profile,
  name: string,
  settings: Pick<SshSettings, 'podman' | 'storage'>,
): string {
  const { environment } = profile;
  const batch = { ...profile.batch, timeMs: sessionTimeLimit(profile) };
  const pass = [...environment.pass, 'JUPYTERHUB_*'];
  const command = ['jupyterhub-singleuser', ...cullingArgs(profile)];
  return jobScript({ ...profile, batch, environment: { ...environment, pass } }, settings, {
    about: `A notebook server of the profile ${profile.name}, printed by \`berth render jupyterhub\`.`,
    // The directory of the hub, where the job is submitted, is none of the user's.
    // A job that Slurm starts again has another address, and somebody else's server may have the former one.
    options: { 'job-name': jobName(name), chdir: '/', output: '/dev/null', 'no-requeue': '' },
    before: `cd "$HOME"\nexec >"$HOME/${jobName(name)}.log" 2>&1\n`,
    run: `start_server=${bashWord(sourceText('./hub/start_server.py', import.meta.url))}
in_container python3 -c "$start_server" ${command.map(bashWord).join(' ')}
`,
  });
}

/** Ends a job of the hub as its user. Its name and comment are what the site's job_submit plugin makes of them: its script tells. */
const endScript = `# end NUMBER: cancels a job of the hub. \`berth render jupyterhub\` has printed it; the hub's account runs it by sudo.
case $(/usr/bin/timeout --signal=KILL 60 /usr/bin/squeue --me --noheader --jobs="$1" --Format=Command:0) in
"\${0%/*}"/*.sh) exec /usr/bin/timeout --signal=KILL 60 /usr/bin/scancel "$1" ;;
esac
echo "end: $1 is not a job of the hub" >&2
exit 1
`;

/** Numbers of jobs for sudoers(5), whose `*` would also match further arguments. */
const jobNumbers = Array.from({ length: 10 }, (_, digits) => '[0-9]'.repeat(digits + 1));

/**
 * sudoers(5): the hub's account may submit the script of a profile as a member of the profile's groups, with variables
 * `JUPYTERHUB_*`, ask for their jobs, of which slurmctld may tell others nothing (PrivateData), and cancel such a job. It
 * may run nothing else, and as nobody else.
 */
function sudoers({ account, directory }: HubJobs, profiles: readonly HubProfile[]): string {
  const lines = profiles.map(({ name, groups = [] }) => {
    const commands = [
      `/usr/bin/sbatch --parsable ${directory}/${name}.sh`,
      ...jobNumbers.flatMap((number) => [
        `/usr/bin/squeue --me --noheader -o %T %B --jobs\\=${number}`,
        `/bin/sh ${directory}/end ${number}`,
      ]),
    ];
    const members = groups.map((group) => `%${escaped(group)}`).join(', ');
    return `${escaped(account)} ALL = (${members}, !root) NOPASSWD: ${commands.join(', \\\n  ')}\n`;
  });
  return `# Written by \`berth render jupyterhub --form jobs\`.
Defaults!/usr/bin/sbatch env_keep += "JUPYTERHUB_*"
${lines.join('')}`;
}

/** A name in sudoers(5). */
function escaped(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_.-]/gu, String.raw`\$&`);
}
