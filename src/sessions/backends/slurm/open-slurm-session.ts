import { writeSync } from 'node:fs';
import type { Profile } from '../../../config/schema/profile/profile.ts';
import { passedVariables } from '../../request/session-environment.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { isTerminal } from '../../../system/controlling-terminal.ts';
import { terminalProgress } from '../../../system/terminal-progress.ts';
import type { LoginSession } from '../backend.ts';
import { writeLimitNote } from '../limit-notes.ts';
import { Forwarding } from '../../forwarding/start-forwarding.ts';
import { allocationsDir, loginOnNodes } from './argv/allocation-script.ts';
import { choiceVariable, firstChoice } from './argv/choice-variables.ts';
import type { SlurmJob } from './argv/slurm-job.ts';
import { type JobAddress, requestOfArgv, sshToJob, type Carried } from './argv/ssh-to-job.ts';
import { joinOrSubmitAllocation } from './join-or-submit-allocation.ts';
import { gateWord } from './gate-word.ts';
import { giveUp } from './submit-allocation.ts';
import { QueuePlace } from './queue-place.ts';
import { connectToJob } from './connect-to-job.ts';
import { waitForJob } from './wait-for-job.ts';
import type { ForwardingTarget } from '../../forwarding/forwarder.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { ChildProgram } from './child-program.ts';

/**
 * Runs a session in the user's allocation: finds or submits its job, waits for it, and connects to the sshd that it
 * runs. This process stays, to say why a session has ended with its job.
 *
 * @returns the command's exit code
 * @throws {BerthError} the errors of `withChoices`, `joinOrSubmitAllocation`, `waitForJob` and `connectToJob`
 */
export async function openSlurmSession(
  login: LoginSession,
): Promise<{ readonly exitCode: number }> {
  const { host, request } = login;
  const profile = await chosen(login);
  const umask = process.umask(0o077);
  const slurm = { slurm: profile.slurm, home: host.user.home };
  const progress = terminalProgress(request.kind);
  const place = new QueuePlace();
  const isKept = profile.lifetime.kind !== 'connection';
  let isNew = false as boolean;
  let job: SlurmJob;
  let address: JobAddress;
  try {
    job = await joinOrSubmitAllocation(
      { slurm, host, profile, login: loginOnNodes(login.toolsDir) },
      () => {
        isNew = true;
        place.hold();
      },
    );
    const { id, key, state } = job;
    const directory = `${allocationsDir(host.user.home)}/${key}`;
    // Others may have used a job that runs, and have left something there.
    const cancel = (): Promise<void> => giveUp(slurm, id, directory);
    place.take(directory, state === 'RUNNING' ? undefined : { id, cancel });
    ({ job, address } = await waitForJob(job, {
      slurm,
      directory,
      show: progress.show,
      startMs: profile.deadlineMs,
      isKept,
      waitMs: profile.batch.waitMs ?? usualWaitMs,
    }));
  } catch (error) {
    const isImpossible = error instanceof BerthError && error.code === 'slurm-never-starts';
    if (isImpossible || !isKept) await place.abandon();
    else place.end();
    throw error;
  } finally {
    progress.clear();
  }
  if (isKept) place.sessionBegins();
  if (!isNew && request.kind === 'shell') tellOfOpenJob(job.id, login.env);
  const endsAt = job.end === undefined ? undefined : job.end * 1000;
  const removeNote = await writeLimitNote(host, {
    profile: profile.name,
    place: `job ${job.id}`,
    endsAt,
  });
  login.onBeforeStart();
  const target = forwardingToJob(host, address, umask);
  const forwards = new Forwarding({ ...login, env: {}, target });
  const client = (log: string) =>
    sshToJob(host.user.name, address, request, {
      ...carried(login, umask),
      word: gateWord(address),
      log,
    });
  let exitCode: number;
  try {
    await forwards.before();
    login.onStarted();
    exitCode = await connectToJob(client, { slurm, job, directory: host.runtimeDir });
  } finally {
    await forwards.stop();
    removeNote();
    place.end();
  }
  return { exitCode };
}

/** What the client chooses is parsed only if it chooses something. */
async function chosen({ profile, env }: LoginSession): Promise<Profile> {
  if (firstChoice(env) === undefined) return profile;
  const { withChoices } = await import('./argv/choices.ts');
  return withChoices(profile, env);
}

/** What the client chooses counts for a new job. */
function tellOfOpenJob(id: string, env: LoginSession['env']): void {
  const [key] = firstChoice(env) ?? [];
  if (key === undefined || !isTerminal(2)) return;
  writeSync(
    2,
    `job ${id} runs already; ${choiceVariable(key)} counts only for a new job: to get one, \`ssh HOST berth end ${id}\`, then connect again\n`,
  );
}

/** How long a session waits for its allocation. Milliseconds. */
const usualWaitMs = 3600_000;

function carried({ profile, env, host }: LoginSession, umask: number): Omit<Carried, 'word'> {
  const {
    SSH_AUTH_SOCK: agent,
    DISPLAY: display,
    ...variables
  } = Object.fromEntries(passedVariables(profile, env));
  delete variables.SSH_TTY;
  const authority = env.XAUTHORITY ?? `${host.user.home}/.Xauthority`;
  return {
    umask,
    env: variables,
    agent,
    connection: host.connection,
    x11: display === undefined ? undefined : { display, authority },
  };
}

/** A job as the place to which ports are forwarded. OpenSSH's client to the job carries the agent and the display itself. */
function forwardingToJob(
  { user, connection }: SessionHost,
  address: JobAddress,
  umask: number,
): ForwardingTarget {
  return {
    name: address.directory,
    ownPorts: [address.port],
    start: (argv, sink) => {
      const carried = { umask, env: {}, connection, word: gateWord(address) };
      const call = sshToJob(user.name, address, requestOfArgv(argv), carried);
      return Promise.resolve(new ChildProgram(call, sink));
    },
  };
}
