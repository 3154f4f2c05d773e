/** What a certificate of a host key says (PROTOCOL.certkeys of OpenSSH). */
export interface HostCertificate {
  /** `SHA256:…` of the host key that it is for. */
  readonly key: string;
  /** `SHA256:…` of the CA's key. */
  readonly authority: string;
  readonly identity: string;
  readonly principals: readonly string[];
  /** Milliseconds since the epoch; -Infinity and Infinity without a limit. */
  readonly from: number;
  readonly until: number;
}

/**
 * Parses what `ssh-keygen -L` prints with `TZ=UTC`.
 *
 * @returns undefined for anything else, such as a certificate of a user's key
 */
export function parseHostCertificate(text: string): HostCertificate | undefined {
  if (!/^\s+Type: \S+ host certificate$/m.test(text)) return undefined;
  const value = (name: string) => new RegExp(`^\\s+${name}: (.*)$`, 'm').exec(text)?.[1] ?? '';
  const [key] = /SHA256:\S+/.exec(value('Public key')) ?? [];
  const [authority] = /SHA256:\S+/.exec(value('Signing CA')) ?? [];
  if (key === undefined || authority === undefined) return undefined;
  const valid = value('Valid');
  const time = (word: string, otherwise: number): number => {
    const found = new RegExp(`\\b${word} (\\d\\S+)`).exec(valid)?.[1];
    return found === undefined ? otherwise : millisecondsOf(found);
  };
  return {
    key,
    authority,
    identity: value('Key ID').replace(/^"(.*)"$/, '$1'),
    principals: principalsIn(text),
    from: time('from', time('after', -Infinity)),
    until: time('to', time('before', Infinity)),
  };
}

/** Lines between `Principals:` and `Critical Options:`. */
function principalsIn(text: string): string[] {
  const [, list = ''] = /^\s+Principals:(.*?)^\s+Critical Options:/ms.exec(text) ?? [];
  return list
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '(none)');
}

/** `2026-11-23T19:16:28`, without Date: this directory has no clock. */
function millisecondsOf(text: string): number {
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = text
    .split(/[-T:]/)
    .map(Number);
  return (((daysBefore(year, month, day) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}

/** Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that a leap day is the last one. */
function daysBefore(year: number, month: number, day: number): number {
  const years = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  return years * 365 + leapDays + dayOfYear - 719_468;
}

/** Why a certificate must be made again. */
export type RenewalReason = 'expired' | 'ends-soon' | 'other-key' | 'other-ca' | 'principals';

/**
 * Whether a present certificate must be replaced: less than a third of its validity is left, or it is not what is asked
 * for.
 *
 * @param now milliseconds since the epoch
 */
export function renewalReason(
  present: HostCertificate,
  wanted: Pick<HostCertificate, 'key' | 'authority' | 'principals'>,
  now: number,
): RenewalReason | undefined {
  if (present.key !== wanted.key) return 'other-key';
  if (present.authority !== wanted.authority) return 'other-ca';
  const list = (names: readonly string[]) => [...names].sort().join(',');
  if (list(present.principals) !== list(wanted.principals)) return 'principals';
  return endReason(present, now);
}

/** Whether it has expired, or less than a third of its validity is left. */
export function endReason(
  { from, until }: Pick<HostCertificate, 'from' | 'until'>,
  now: number,
): 'expired' | 'ends-soon' | undefined {
  if (now >= until) return 'expired';
  return until - now < (until - from) / 3 ? 'ends-soon' : undefined;
}
