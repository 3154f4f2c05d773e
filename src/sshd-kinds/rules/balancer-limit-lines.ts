import { enoughStartups } from '../../sshd-lint/rules/balancer-findings.ts';

/**
 * What sshd_config needs behind balancers that do not keep the client's address.
 *
 * @param version what `sshd -V` prints. Without a version, only what every sshd accepts is written.
 */
export function balancerLimitLines(balancers: readonly string[], version: string): string[] {
  const [, major, minor] = /OpenSSH_(\d+)\.(\d+)/.exec(version) ?? [];
  // PerSourcePenalties came with 9.8; an older sshd refuses the keyword.
  const punishes = Number(major) > 9 || (Number(major) === 9 && Number(minor) >= 8);
  return [
    enoughStartups,
    ...(punishes ? [`PerSourcePenaltyExemptList ${balancers.join(',')}`] : []),
  ];
}
