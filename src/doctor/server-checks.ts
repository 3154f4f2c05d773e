import { countText } from '../count-text.ts';
import type { ServerFacts } from '../system/probe-server.ts';
import { failed, type Finding, ok, skipped, warning } from '../check-result.ts';

const day = 86_400_000;

/** Whether the certificate of a server expires soon. */
export function certificateFinding(facts: ServerFacts): Finding {
  const { certificateEnds, ourDate } = facts;
  if (certificateEnds === undefined) return skipped('the server sent no certificate');
  const date = new Date(certificateEnds).toISOString().slice(0, 10);
  const days = Math.floor((certificateEnds - ourDate) / day);
  if (days < 0) return failed(`the server's certificate expired on ${date}`, renew);
  return days < 14
    ? warning(`the server's certificate expires on ${date}, in ${countText(days, 'day')}`, renew)
    : ok(`the server's certificate is valid until ${date}`);
}

const renew = 'Renew it on the server (`kubeadm certs check-expiration` for a kubeadm cluster).';

/**
 * The difference between the clocks of a server and of this host.
 *
 * @param tolerated in seconds; with a larger difference tokens are refused
 */
export function clockFinding({ date, ourDate }: ServerFacts, tolerated: number): Finding {
  if (date === undefined) return skipped('the answer of the server has no date');
  // The header has whole seconds, rounded down: on average half a second too early.
  const skew = (ourDate - date - 500) / 1000;
  const text = `${Math.abs(skew).toFixed(0)} s ${skew > 0 ? 'ahead of' : 'behind'} the server's`;
  const next = 'Run chronyd or systemd-timesyncd on both; compare with `chronyc tracking`.';
  if (Math.abs(skew) > tolerated)
    return failed(`this host's clock is ${text}: tokens are refused as expired or too new`, next);
  if (Math.abs(skew) > 5) return warning(`this host's clock is ${text}`, next);
  return ok('the clocks of this host and the server agree');
}
