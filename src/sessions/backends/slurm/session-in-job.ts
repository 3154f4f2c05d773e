import type { Profile, SshSettings } from '../../../config/schema/profile/profile.ts';
import { isOwnDirectory } from '../../connections/runtime-dir.ts';
import type { User } from '../../../system/identity/nss.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { isInJob } from '../../../system/job-cgroup.ts';
import { readUserFileSync } from '../../../system/user-file.ts';
import type { SessionRequest } from '../../request/session-request.ts';
import { environmentFile, jobVariables } from './argv/allocation-script.ts';
import { carriedEnvironment, carriedRequest, carriedUmask } from './argv/ssh-to-job.ts';

type Given = Readonly<NodeJS.ProcessEnv>;

/**
 * The host of a session if this process is in a job of Slurm that holds an allocation for sessions.
 *
 * That it is in a job is the kernel's word: only root can create a cgroup there. Everything else is the user's own and
 * decides nothing on a login node.
 */
function hostOfJob(
  { storage, podman }: Pick<SshSettings, 'storage' | 'podman'>,
  user: User,
  { BERTH_JOB_DIRECTORY: directory }: Given,
): SessionHost | undefined {
  if (directory === undefined || !isInJob('self', user.uid) || !isOwnDirectory(directory, user.uid))
    return undefined;
  return {
    user,
    storage,
    runtimeDir: directory,
    jobDirectory: directory,
    podman: { ...podman, cgroupManager: 'cgroupfs' },
  };
}

/** What differs for a session in a job: the login on the login node has applied the rules, and has sent the environment. */
export interface SessionInJob {
  readonly host: SessionHost;
  readonly request: SessionRequest;
  readonly env: Given;
}

/** @returns undefined outside of a job that holds an allocation; in one, this process has the login's umask then */
export function sessionInJob(
  settings: Pick<SshSettings, 'storage' | 'podman'>,
  user: User,
  given: Pick<SessionInJob, 'request' | 'env'>,
): SessionInJob | undefined {
  const host = hostOfJob(settings, user, given.env);
  if (host === undefined) return undefined;
  const env = { ...jobEnvironment(host), ...carriedEnvironment(given.env) };
  process.umask(carriedUmask(env));
  const request = { ...carriedRequest(given.request), profile: env.BERTH_PROFILE };
  return { host, request, env };
}

/** The limits of a job are Slurm's, and sessions get its variables. */
export function profileInJob(profile: Profile): Profile {
  const { environment } = profile;
  const pass = [...environment.pass, ...jobVariables];
  return { ...profile, limits: {}, environment: { ...environment, pass } };
}

/** A job has some dozen variables. Bytes. */
const longestEnvironment = 256 * 1024;

/** The variables that Slurm has set for the job. @throws {BerthError} the errors of `readUserFileSync` */
function jobEnvironment({
  user,
  jobDirectory = '',
}: SessionHost): Readonly<Record<string, string>> {
  const demands = { uid: user.uid, maximumBytes: longestEnvironment };
  const text = readUserFileSync(`${jobDirectory}/${environmentFile}`, demands);
  const pairs = (text?.toString('utf8') ?? '').split('\0').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}
