import { standardProfile } from '../host/ssh-host.ts';
import type { LoginMode } from '../host/sshd-config.ts';
import { conformance } from './on-host.ts';

const sshdRefuses = 'sshd hands no signals to a session whose command is forced';

/** The suite against Berth in one of its modes, with containers that live as long as said. */
export function conformanceOfBerth(mode: Exclude<LoginMode, 'plain'>, lifetime: string): void {
  conformance(
    `Berth as ${mode}, lifetime ${lifetime}`,
    { mode, profiles: { base: { ...standardProfile, lifetime } } },
    mode === 'forced' ? { 'signals of the client reach the command (AsyncSSH)': sshdRefuses } : {},
  );
}
