import {
  type Profile,
  type SshSettings,
  sessionBackends,
} from '../../../config/schema/profile/profile.ts';
import type { User } from '../../../system/identity/nss.ts';
import { asBerthError, type BerthError } from '../../../system/errors/berth-error.ts';
import { type SessionEnd, sessionEnd } from '../../request/shown-session-end.ts';
import { type OwnSession, type OwnSessions, sessionNameParts } from '../own-session.ts';
import { allocationsDir } from './argv/allocation-script.ts';
import { waitingText } from './argv/pending-reasons.ts';
import { sessionTimeLimit } from './argv/sbatch-options.ts';
import { configOf, recordedJobs } from './allocation-records.ts';
import { hasStarted, type SlurmJob, type SlurmPrograms } from './argv/slurm-job.ts';
import { giveUp } from './submit-allocation.ts';
import { openJobs } from './slurm-queue.ts';

/**
 * The jobs of the sessions of the user who runs this process. Asks each slurmctld once.
 *
 * @param now milliseconds since the epoch
 */
export async function ownJobs(
  settings: Pick<SshSettings, 'profiles' | 'rules'>,
  { home }: User,
  now: number,
): Promise<OwnSessions> {
  const own = [...settings.profiles.values()].filter((profile) =>
    sessionBackends(profile, settings.rules).has('slurm'),
  );
  const clusters = new Map<string, SlurmPrograms>(
    own.map(({ slurm }) => [configOf({ slurm, home }), { slurm, home }]),
  );
  const sessions = new Map<string, OwnSession>();
  const failed: BerthError[] = [];
  await Promise.all(
    [...clusters.values()].map(async (slurm) => {
      try {
        for (const job of await openJobs(slurm, await recordedJobs(slurm)))
          sessions.set(job.key, ownJob(job, { slurm, settings, now }));
      } catch (thrown) {
        failed.push(asBerthError(thrown, 'asking Slurm for your jobs'));
      }
    }),
  );
  return { sessions: [...sessions.values()], failed };
}

function ownJob(
  job: SlurmJob,
  place: {
    readonly slurm: SlurmPrograms;
    readonly settings: Pick<SshSettings, 'profiles'>;
    readonly now: number;
  },
): OwnSession {
  const { slurm, settings, now } = place;
  const { id, name, node, state, end, start } = job;
  const { profile, connection } = sessionNameParts(name) ?? {};
  const runs = hasStarted(job);
  const at = runs && end !== undefined ? end * 1000 : undefined;
  const secondsLeft = at === undefined ? undefined : Math.max(0, Math.round((at - now) / 1000));
  const ends = endWithoutUse(settings.profiles.get(profile ?? ''), job, connection);
  return {
    name,
    profile,
    backend: 'slurm',
    state: state.toLowerCase(),
    job: { id, node, secondsLeft, waits: runs ? undefined : waitingText(job) },
    since: runs && start !== undefined ? start * 1000 : undefined,
    connections: undefined,
    ends: at === undefined ? ends : { ...ends, at },
    end: () => giveUp(slurm, id, `${allocationsDir(slurm.home)}/${job.key}`),
  };
}

/** Its end by itself: a job does not wait for processes, and its own time limit may be another than its profile's. */
export function endWithoutUse(
  profile: Profile | undefined,
  { start, end }: SlurmJob,
  connection: string | undefined,
): SessionEnd {
  if (profile === undefined) return sessionEnd(undefined, connection, undefined);
  const { lifetime, timeouts } = profile;
  const hardMs =
    start === undefined || end === undefined ? sessionTimeLimit(profile) : (end - start) * 1000;
  const ofJob = {
    lifetime: lifetime.kind === 'user' ? { ...lifetime, linger: false } : lifetime,
    timeouts: { ...timeouts, hardMs },
  };
  return sessionEnd(ofJob, connection, undefined);
}
