/**
 * `npm run bench:ssh -- [PART …] [--check | --save]` measures sessions next to plain sshd, a forced `podman run` and a forced `kubectl exec`,
 * in the same run, interleaved; sessions in jobs also next to a forced srun and ssh with pam_slurm_adopt. `--help` names its parts.
 */
import '../../../scripts/check-node.ts';
import { ensureCommand } from '../../rig/site/debian-packages.ts';
import { machine } from '../measure.ts';
import { checkedFigures, heading, printLine } from '../report.ts';
import { withBenchArguments } from '../bench-arguments.ts';
import { checkOrSave } from '../saved-performance.ts';
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
process.exitCode = await withBenchArguments(
  {
    command: 'bench:ssh',
    about:
      'Sessions in containers, pods and jobs of Slurm, in turn with the commands that they replace.',
    known,
    saved: 'docs/performance.json',
    hasCheck: true,
  },
  async (given) => {
    await ensureCommand('time', 'time');
    printLine(`Berth's sessions and their neighbours: ${machine}; medians of runs in turn`);
    await run(given.parts, containers, openNodes);
    await run(given.parts, pods, openPods);
    await run(given.parts, jobs, openJobs);
    await run(given.parts, users, openUsers);
    return await checkOrSave(checkedFigures(), given);
  },
);

async function run<On extends { stop(): Promise<void> }>(
  names: readonly string[],
  parts: Parts<On>,
  open: () => Promise<On>,
): Promise<void> {
  const chosen = names.flatMap((name) => (name in parts ? [parts[name]] : []));
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
