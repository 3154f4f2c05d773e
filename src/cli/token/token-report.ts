import type { RotatedToken, RotateOutcome } from '../../clusters/rotate-token.ts';
import { escapedForTerminal } from '../../log.ts';
import { durationText, timestamp } from '../kit/duration.ts';
import { documentText } from '../kit/json-document.ts';

/** The result for the token of one cluster, as text. Times are in seconds since the epoch. */
export function tokenText(
  rotated: RotatedToken,
  {
    now,
    wantedSeconds,
    dryRun,
  }: { readonly now: number; readonly wantedSeconds: number; readonly dryRun: boolean },
): string {
  const { cluster, file, user, account, oldExpires, expires } = rotated;
  const left = expires - now;
  const name = `${account.namespace}/${account.name}`;
  const did = dryRun
    ? `would write a new token of user ${user} to ${file} (ServiceAccount ${name}; a test token was issued and works)`
    : `${name} has a new token in ${file}, user ${user}`;
  const lines = [
    escapedForTerminal(`${cluster}: ${did}`),
    `  valid until ${timestamp(expires)} (${durationText(left)})`,
  ];
  if (oldExpires !== undefined)
    lines.push(`  the old token is valid until ${timestamp(oldExpires)}`);
  // The API server counts whole seconds, and the request takes time.
  if (left < wantedSeconds - 60)
    lines.push(
      `  shorter than the ${durationText(wantedSeconds)} requested: see --service-account-max-token-expiration of the API server, and let the timer run often enough`,
    );
  return `${lines.join('\n')}\n`;
}

/** The same as JSON, with stable names and times as in RFC 3339. */
export function tokensJson(outcomes: readonly RotateOutcome[], dryRun: boolean): string {
  const clusters = outcomes.map((outcome) => {
    if ('error' in outcome) {
      const { code, message, hint } = outcome.error;
      return { cluster: outcome.cluster, status: 'failed' as const, code, message, next: hint };
    }
    const { cluster, file, user, account, oldExpires, expires } = outcome.rotated;
    return {
      cluster,
      status: dryRun ? ('would-rotate' as const) : ('rotated' as const),
      file,
      user,
      serviceAccount: `${account.namespace}/${account.name}`,
      ...(oldExpires === undefined ? {} : { oldExpires: timestamp(oldExpires) }),
      expires: timestamp(expires),
    };
  });
  return documentText('TokenReport', { dryRun, clusters });
}
