import type { ForwardingTarget } from '../../forwarding/forwarder.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { type JobAddress, requestOfArgv, sshToJob } from './argv/ssh-to-job.ts';
import { ChildProgram } from './child-program.ts';
import { gateWord } from './gate-word.ts';

/** A job as the place to which ports are forwarded. OpenSSH's client to the job carries the agent and the display itself. */
export function forwardingToJob(
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
