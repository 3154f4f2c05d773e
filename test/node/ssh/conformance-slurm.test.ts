import { conformance } from '../../conformance/define-tests.ts';
import { knownFailures, type Subject } from '../../../src/companions/verify/suite.ts';
import { standardProfile } from '../../rig/login-node/ssh-host.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const inJob = { ...standardProfile, backend: 'slurm' };

/** What depends on how sshd runs the login program, there and on the compute node. */
const subjectsOfLoginShell: readonly Subject[] = [
  ...(['exit codes and signals', 'interactive shells', 'login shells', 'sftp and scp'] as const),
  'agent and X11 forwarding, VS Code',
];

function conformanceInJobs(
  mode: 'forced' | 'login-shell',
  nodes: number,
  subjects?: readonly Subject[],
): void {
  conformance(`Berth as ${mode}, in jobs of Slurm`, {
    start: async () => {
      const site = await SlurmSite.start(
        {
          ...{ mode, users: { bob: [], cleo: [] } },
          sshYml: { rules: [{ users: ['cleo'], profile: 'hours' }, { profile: 'base' }] },
          profiles: {
            base: { ...inJob, lifetime: 'user' },
            hours: { ...inJob, lifetime: '8h' },
          },
        },
        nodes,
      );
      return { host: site.login, stop: () => site.stop() };
    },
    ...{ users: { bob: 'lifetime user', cleo: 'lifetime 8h' }, subjects },
    expectedFailures: {
      // The sshd of the job has a forced command.
      ...knownFailures(['slurm', 'forced']),
      'agent forwarding: ssh from the session to another host signs with the key of the client machine':
        "the suite's sshd listens on the login node's loopback alone, and root's ports do not lead to a compute node",
    },
  });
}

conformanceInJobs('forced', 2);
conformanceInJobs('login-shell', 1, subjectsOfLoginShell);
