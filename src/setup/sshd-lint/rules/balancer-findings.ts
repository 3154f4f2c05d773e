import { isCovered, matchesAddressList } from './addresses.ts';
import type { SshdDirective } from './directives.ts';
import type { MatchBlock } from './match.ts';
import type { SshdOptions } from './options.ts';
import { advice, type SshdFinding, weakness } from './sshd-finding.ts';

/**
 * Findings about an sshd behind balancers that do not keep the client's address: every user comes from the same few
 * addresses, so what sshd counts or decides by address concerns everybody (srclimit.c and servconf.c of OpenSSH).
 *
 * @param balancers `balancers` of ssh.yml: addresses and CIDRs; none if sshd sees the addresses of clients
 */
export function balancerFindings(
  options: SshdOptions,
  balancers: readonly string[],
  { blocks, directives }: { blocks: readonly MatchBlock[]; directives: readonly SshdDirective[] },
): SshdFinding[] {
  if (balancers.length === 0) return [];
  return [...limitFindings(options, balancers), ...addressFindings(balancers, blocks, directives)];
}

/**
 * What one source gets from two balancers (`source_limits`). With fewer, it makes sshd refuse others and the balancers'
 * checks.
 */
const fewestStartups = 400;

/** More than that. */
export const enoughStartups = 'MaxStartups 500:30:1000';

function limitFindings(options: SshdOptions, balancers: readonly string[]): SshdFinding[] {
  const { perSourcePenalties, perSourceMaxStartups, perSourceNetBlockSize, useDns } = options;
  const exempt = options.perSourcePenaltyExemptList;
  const punished = perSourcePenalties
    ? balancers.filter((balancer) => !exempt.some((one) => isCovered(balancer, one)))
    : [];
  const findings: SshdFinding[] = [];
  if (punished.length > 0)
    findings.push(
      advice(
        'balancer-penalties',
        `after a few failed logins of anyone, sshd refuses everybody who comes through ${punished.join(', ')} (PerSourcePenalties)`,
        `PerSourcePenaltyExemptList ${[...exempt, ...punished].join(',')}`,
      ),
    );
  if (perSourceMaxStartups !== undefined)
    findings.push(
      advice(
        'balancer-source-startups',
        `only ${perSourceMaxStartups} ${perSourceMaxStartups === 1 ? 'person' : 'people'} can log in at the same time through a balancer (PerSourceMaxStartups)`,
        'PerSourceMaxStartups none',
      ),
    );
  if (
    perSourceNetBlockSize !== '32:128' &&
    (punished.length > 0 || perSourceMaxStartups !== undefined)
  )
    findings.push(
      advice(
        'balancer-net-block',
        `sshd counts all addresses of a network as one, so also several balancers (PerSourceNetBlockSize ${perSourceNetBlockSize})`,
        'PerSourceNetBlockSize 32:128',
      ),
    );
  if (options.maxStartups < fewestStartups)
    findings.push(
      advice(
        'balancer-max-startups',
        `with ${options.maxStartups} or more connections before login, sshd refuses some at random, also the balancer's checks (MaxStartups)`,
        enoughStartups,
      ),
    );
  if (useDns)
    findings.push(
      advice(
        'balancer-use-dns',
        'each login waits for DNS, only to find the name of a balancer',
        'UseDNS no',
      ),
    );
  return findings;
}

function addressFindings(
  balancers: readonly string[],
  blocks: readonly MatchBlock[],
  directives: readonly SshdDirective[],
): SshdFinding[] {
  const criteria = blocks.flatMap(({ file, line, text, criteria: all }) =>
    all
      .filter(({ name }) => name === 'address' || name === 'host')
      .map(({ name, argument }) => ({
        what: `Match ${text}`,
        place: `${file}:${line}`,
        list: argument,
        byName: name === 'host',
      })),
  );
  const entries = directives
    .filter(({ keyword }) => keyword === 'allowusers' || keyword === 'denyusers')
    .flatMap(({ args, file, line }) =>
      args
        .filter((entry) => entry.includes('@'))
        .map((entry) => ({
          what: entry,
          place: `${file}:${line}`,
          list: entry.slice(entry.lastIndexOf('@') + 1),
          byName: false,
        })),
    );
  return [...criteria, ...entries].flatMap(({ what, place, list, byName }) => {
    // A condition that names exactly the balancers is meant for them.
    if (list.split(',').every((one) => balancers.includes(one))) return [];
    const matched = !byName && balancers.some((one) => matchesAddressList(hostOf(one), list));
    return [
      {
        ...(matched ? weakness : advice)(
          'balancer-address',
          matched
            ? `${what} applies to everybody who comes through a balancer, from wherever they come`
            : `${what} never applies to users who come through a balancer: sshd sees the balancer's address`,
          'decide by user, group or port; or let the balancer keep the address of clients (client_address: transparent)',
        ),
        place,
      },
    ];
  });
}

/** The address of a CIDR. */
function hostOf(balancer: string): string {
  return balancer.split('/')[0] ?? balancer;
}
