import { NodesBehindBalancer } from '../../../rig/balancer/nodes-behind-balancer.ts';
import { openSite } from '../../../rig/site/site.ts';
import { conformance } from '../../../conformance/define-tests.ts';
import { knownFailures, type Subject } from '../../../../src/companions/verify/suite.ts';
import {
  profilesByLifetime,
  together,
  userTitles,
  usersByLifetime,
} from '../../../conformance/berth-suite.ts';
import {
  startPodHost,
  type PodHost,
  type PodHostOptions,
} from '../../../rig/login-node/pod-host.ts';

const onwards = {
  'agent forwarding: ssh from the session to another host signs with the key of the client machine':
    "the suite's sshd listens on the login node's loopback alone, and root's ports do not lead into a pod",
};

/**
 * What depends on how sshd runs the login program: the command's text, the shell that runs it, signals, sftp. After that a
 * session has the same request in both modes (src/sessions/request/session-request.ts), so the other cases run in pods with a
 * forced command only. In containers all cases run in both modes.
 */
const subjectsOfLoginShell: readonly Subject[] = [
  ...(['single commands', 'exit codes and signals', 'interactive shells', 'login shells'] as const),
  'sftp and scp',
];

/** Defines the tests of the conformance cases against Berth with pods, on two login nodes behind a balancer. */
export function conformanceOfPods(mode: PodHostOptions['mode'], first: number): void {
  const profiles = profilesByLifetime({});
  const setup = { mode, profiles, ...usersByLifetime };
  conformance(`Berth in pods as ${mode}, behind a balancer`, {
    start: async () => {
      const site = await openSite();
      const behind = await NodesBehindBalancer.startWith<PodHost>(
        { nodes: 2, together: together[mode] },
        ({ name, address }, beside) =>
          startPodHost(site, {
            ...{ ...setup, name, address },
            ...(beside === undefined ? {} : { beside }),
          }),
      );
      return { host: behind.front, stop: () => behind.stop() };
    },
    ...{ users: userTitles, first },
    subjects: mode === 'login-shell' ? subjectsOfLoginShell : undefined,
    expectedFailures: {
      ...knownFailures(mode === 'forced' ? ['pod', 'forced'] : ['pod']),
      ...onwards,
    },
  });
}
