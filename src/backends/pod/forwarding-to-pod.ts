import type { ForwardingTarget } from '../../forwarding/forwarder.ts';
import { ExecStream } from '../../kube-exec/exec-stream.ts';
import { openExec, podNotReadyCodes, type PodTarget } from '../../kube-exec/open-exec.ts';

/** A pod as the place to which connections are forwarded. Its `start` has the errors of `openExec`. */
export function forwardingToPod({ server, pod }: PodTarget): ForwardingTarget {
  return {
    name: `${server.url} ${pod.namespace} ${pod.pod}`,
    notReady: podNotReadyCodes,
    start: async (argv, sink) =>
      new ExecStream(await openExec({ server, target: { ...pod, argv, tty: false } }), sink),
  };
}
