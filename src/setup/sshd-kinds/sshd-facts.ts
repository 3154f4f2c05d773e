import { existsSync } from 'node:fs';
import type { SshdDirective } from '../sshd-lint/rules/directives.ts';
import { identityOf, type KeyIdentity, readHostCertificate } from './keygen.ts';
import { defaultHostKeys } from './kind-inputs.ts';
import type { HostCertificate } from './rules/host-certificate.ts';
import { endpointsOf, type SshdEndpoint } from './rules/sshd-endpoints.ts';

/** What the configuration of an sshd says to its clients. */
export interface SshdFacts {
  readonly endpoints: readonly SshdEndpoint[];
  readonly hostKeys: readonly KindHostKey[];
  readonly certificates: readonly KindCertificate[];
  /** Of `--profile` in ForceCommand. */
  readonly profile?: string | undefined;
}

export interface KindHostKey extends KeyIdentity {
  readonly file: string;
}

export interface KindCertificate {
  readonly file: string;
  readonly certificate?: HostCertificate;
}

/** @throws {BerthError} `keygen-failed` */
export async function sshdFacts(directives: readonly SshdDirective[]): Promise<SshdFacts> {
  const global = directives.filter(({ criteria }) => criteria.length === 0);
  const values = (keyword: string) =>
    global.filter((one) => one.keyword === keyword).map(({ args }) => args);
  const named = values('hostkey').flatMap(([key]) => key ?? []);
  const keyFiles = named.length > 0 ? named : defaultHostKeys.filter((key) => existsSync(key));
  const hostKeys = keyFiles.map(async (file) => ({ file, ...(await identityOf(file)) }));
  const certificates = values('hostcertificate').flatMap(([file]) => file ?? []);
  const command = values('forcecommand')[0] ?? [];
  return {
    endpoints: endpointsOf(global),
    hostKeys: await Promise.all(hostKeys),
    certificates: await Promise.all(certificates.map(certificateIn)),
    profile: command.includes('--profile') ? command[command.indexOf('--profile') + 1] : undefined,
  };
}

async function certificateIn(file: string): Promise<KindCertificate> {
  const certificate = await readHostCertificate(file).catch(() => undefined);
  return { file, certificate };
}
