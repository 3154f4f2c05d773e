import { standardProfile } from '../host/ssh-host.ts';
import type { LoginMode } from '../host/sshd-config.ts';
import { conformance, startHost } from './on-host.ts';

const runtimeSays =
  'an OCI runtime ends with 128 + N, whether the command died of signal N or said so';
const ownTmp = "sshd opens the socket in the host's /tmp, and the session has a /tmp of its own";

/** What a session in a container cannot do as long as the sshd in front of it is a plain one. */
const explained = {
  'a shell that dies of a signal: the client ends with 255': runtimeSays,
  'the name of that signal arrives (AsyncSSH)': runtimeSays,
  '-L: to a Unix socket in /tmp there': ownTmp,
  '-R: a Unix socket in /tmp there leads here': ownTmp,
};

const explainedWhenForced = {
  'signals of the client reach the command (AsyncSSH)':
    'sshd hands no signals to a session whose command is forced',
};

/** The suite against Berth in one of its modes, with containers that live as long as said. */
export function conformanceOfBerth(mode: Exclude<LoginMode, 'plain'>, lifetime: string): void {
  conformance(
    `Berth as ${mode}, lifetime ${lifetime}`,
    () => startHost({ mode, profiles: { base: { ...standardProfile, lifetime } } }),
    { ...explained, ...(mode === 'forced' ? explainedWhenForced : {}) },
  );
}
