import { openSite } from '../site/site.ts';
import { conformance } from '../ssh/conformance/on-host.ts';
import { startPodHost, type PodHostOptions } from './pod-host.ts';

const shellSays =
  'the shell around the command ends with 128 + N, whether the command died of signal N or said so';

/** What a session in a pod cannot do as long as the sshd in front of it is a plain one. */
const explained = {
  'a shell that dies of a signal: the client ends with 255': shellSays,
  'the name of that signal arrives (AsyncSSH)': shellSays,
  'agent forwarding: from there on with ssh, which signs with the key here':
    "the suite's sshd listens on the login node's loopback alone, and root's ports do not lead into a pod",
};

const explainedWhenForced = {
  'signals of the client reach the command (AsyncSSH)':
    'sshd hands no signals to a session whose command is forced',
};

/** The suite against Berth in one of its modes, with pods that live as long as said. */
export function conformanceOfPods(mode: PodHostOptions['mode'], lifetime: string): void {
  conformance(
    `Berth in pods as ${mode}, lifetime ${lifetime}`,
    async () => startPodHost(await openSite(), { mode, users: { ada: [] }, profile: { lifetime } }),
    { ...explained, ...(mode === 'forced' ? explainedWhenForced : {}) },
  );
}
