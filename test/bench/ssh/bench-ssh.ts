/**
 * `npm run bench:ssh -- [PART …] [--check | --save]` measures sessions next to plain sshd, a forced `podman run` and a forced `kubectl exec`,
 * in the same run, interleaved. Parts: warm fresh share bulk idle; for sessions in pods pod-warm pod-fresh pod-stream
 * pod-idle; for sessions in jobs, next to a forced srun and ssh with pam_slurm_adopt, job-warm job-stream job-many, and
 * job-users alone. `--check` and `--save` are those of `npm run bench`.
 */
import '../../../scripts/check-node.ts';
import { ensureCommand } from '../../rig/site/debian-packages.ts';
import { machine } from '../measure.ts';
import { checkedFigures, heading, printLine } from '../report.ts';
import { benchArguments, checkOrSave } from '../saved-performance.ts';
import { bulk } from './bulk.ts';
import { idle } from './idle.ts';
import type { SlurmSite } from '../../rig/slurm/slurm-site.ts';
import { openJobs, type JobNodes } from './job-nodes.ts';
import { jobUsers, openUsers } from './job-users.ts';
import { jobMany, jobStream, jobWarm } from './job-sessions.ts';
import { fresh, share, warm } from './logins.ts';
import { openNodes, type Nodes } from './nodes.ts';
import { podIdle } from './pod-idle.ts';
import { podFresh, podWarm } from './pod-logins.ts';
import { podStream } from './pod-stream.ts';
import { openPods, type PodNodes } from './pods.ts';

type Parts<On> = Readonly<Record<string, readonly [string, (on: On) => Promise<void>]>>;

const containers: Parts<Nodes> = {
  warm: ['A command in a warm session', warm],
  fresh: ['A command in a fresh container', fresh],
  share: ['Our own share before the session', share],
  bulk: ['One gigabyte, and a million lines', bulk],
  idle: ['200 idle sessions', idle],
};

const pods: Parts<PodNodes> = {
  'pod-warm': ['A command in a warm pod', podWarm],
  'pod-fresh': ['A command in a fresh pod', podFresh],
  'pod-stream': ['Half a gigabyte out of a pod and into it', podStream],
  'pod-idle': ['100 idle sessions in pods', podIdle],
};

const jobs: Parts<JobNodes> = {
  'job-warm': ['A command in a running job', jobWarm],
  'job-stream': ['256 MiB out of a job and into it', jobStream],
  'job-many': ['100 sessions in jobs at once', jobMany],
};

const users: Parts<SlurmSite> = {
  'job-users': ['Sessions of 200 users in their jobs', jobUsers],
};

const known = [containers, pods, jobs, users].flatMap((parts) => Object.keys(parts));
const given = benchArguments(process.argv.slice(2));
const wanted = given.parts.length === 0 ? known : given.parts;
for (const name of wanted)
  if (!known.includes(name)) throw new Error(`no part ${name}: ${known.join(', ')}`);
await ensureCommand('time', 'time');
printLine(`Berth's sessions and their neighbours: ${machine}; medians of runs in turn`);
await run(containers, openNodes);
await run(pods, openPods);
await run(jobs, openJobs);
await run(users, openUsers);
process.exitCode = await checkOrSave(checkedFigures(), given);

async function run<On extends { stop(): Promise<void> }>(
  parts: Parts<On>,
  open: () => Promise<On>,
): Promise<void> {
  const chosen = wanted.flatMap((name) => (name in parts ? [parts[name]] : []));
  if (chosen.length === 0) return;
  const on = await open();
  try {
    for (const part of chosen) {
      if (part === undefined) continue;
      heading(part[0]);
      await part[1](on);
    }
  } finally {
    await on.stop();
  }
}
