import { lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseSshdConfigFiles } from '../../setup/sshd-lint/sshd-effective.ts';
import { hostConfig, kindFile, kindNames } from '../../setup/sshd-kinds/kind.ts';
import { authorityKey } from './rules/certificate-authority.ts';
import { sshdFacts } from '../../setup/sshd-kinds/sshd-facts.ts';

/** What users must know of an sshd of this host. */
export interface KnownSshd {
  /** NAME of berth-sshd@NAME; absent for the host's own sshd. */
  readonly name?: string | undefined;
  readonly ports: readonly number[];
  readonly profile?: string | undefined;
  readonly hostKeys: readonly { readonly type: string; readonly fingerprint: string }[];
  /** Lines of known_hosts. */
  readonly authorities: readonly string[];
}

/**
 * The sshds of all kinds of sessions; the host's own one if there are no kinds; none without a configuration.
 *
 * @param now milliseconds since the epoch: expired certificates are left out
 * @throws {BerthError} `config-unreadable`, `keygen-failed`
 */
export async function knownSshds(now: number): Promise<KnownSshd[]> {
  const kinds = kindNames().map((name) => ({ name, file: kindFile(name) }));
  const own =
    lstatSync(hostConfig, { throwIfNoEntry: false }) !== undefined
      ? [{ name: undefined, file: hostConfig }]
      : [];
  return Promise.all(
    (kinds.length > 0 ? kinds : own).map(async ({ name, file }) => {
      const facts = await sshdFacts((await parseSshdConfigFiles(file)).directives);
      const valid = facts.certificates.flatMap((one) =>
        one.certificate !== undefined && one.certificate.until > now
          ? [{ file: one.file, principals: one.certificate.principals }]
          : [],
      );
      const lines = valid.map(async (one) => {
        const key = authorityKey(await readFile(one.file, 'utf8'));
        // A certificate without names is for every host.
        const hosts = one.principals.length === 0 ? '*' : one.principals.join(',');
        return key === undefined ? [] : [`@cert-authority ${hosts} ${key}`];
      });
      const reachable = facts.endpoints.filter(({ address }) => !/^(?:127\.|::1$)/.test(address));
      return {
        name,
        profile: facts.profile,
        hostKeys: facts.hostKeys,
        ports: [...new Set(reachable.map(({ port }) => port))],
        authorities: (await Promise.all(lines)).flat(),
      };
    }),
  );
}
