import { accessFindings } from './access-findings.ts';
import { environmentFindings } from './environment-findings.ts';
import { bySeverity, type SshdFinding, type SshdSample } from './sshd-finding.ts';
import { forwardFindings } from './forwarding-findings.ts';
import type { SshdOptions } from './options.ts';
import { sessionStartFindings } from './session-start-findings.ts';
import { subsystemFindings } from './subsystem-findings.ts';

/**
 * All findings for the effective options of one account, doors first. The rules follow OpenSSH's session.c,
 * serverloop.c and auth.c.
 */
export function sshdFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  // root has the host anyway, and no session: it is enough to say so, and a forced command would lock it out.
  if (sample.isRoot) return bySeverity(accessFindings(options, sample));
  return bySeverity([
    ...sessionStartFindings(options, sample),
    ...subsystemFindings(options, sample),
    ...environmentFindings(options, sample),
    ...forwardFindings(options, sample),
    ...accessFindings(options, sample),
  ]);
}
