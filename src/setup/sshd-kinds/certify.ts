import { copyFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { readConfigText } from '../sshd-lint/read-config-text.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { certificateFileOf, identityOf, readHostCertificate, runKeygen } from './keygen.ts';
import {
  renewalReason,
  type HostCertificate,
  type RenewalReason,
} from './rules/host-certificate.ts';

export interface CertifyInput {
  /** The CA's private key; with `agent`, its public key. */
  readonly ca: string;
  /** The CA's private key is in ssh-agent, also if it is on a token (PKCS#11). */
  readonly agent: boolean;
  /** Host keys; their public halves are enough. */
  readonly hostKeys: readonly string[];
  /** The names that clients type. */
  readonly principals: readonly string[];
  readonly validitySeconds: number;
  /** What sshd and clients log. */
  readonly identity: string;
  /** Renew a certificate that is still valid for long. */
  readonly force: boolean;
  /** Signs the keys, and writes no certificate. */
  readonly dryRun: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

export interface CertifiedKey {
  /** Path of the certificate. */
  readonly file: string;
  /** `kept`: more than a third of its validity is left, and nothing else has changed. */
  readonly change: 'made' | 'renewed' | 'kept';
  /** Why it was renewed. */
  readonly reason?: RenewalReason | 'forced';
  readonly certificate: HostCertificate;
}

export interface Certified {
  readonly keys: readonly CertifiedKey[];
  /** For the known_hosts of users. */
  readonly knownHostsLine: string;
}

/** Clocks of clients may be late. Seconds. */
const tolerance = 300;

/**
 * Signs host keys, so that clients which know the CA accept every login node of the name. It needs no root: the CA and the
 * public halves of the host keys can be on a host of an admin.
 *
 * @throws {BerthError} `usage`, `host-key-missing`, `config-unreadable`, `keygen-failed`, and those of `writeAtomically`
 */
export async function certifyHostKeys(input: CertifyInput): Promise<Certified> {
  for (const name of input.principals) assertPrincipal(name);
  const keys = input.hostKeys.map((key) => ({ key, publicKey: publicHalf(key) }));
  const certificates = input.hostKeys.map(certificateFileOf);
  const read = [...keys.map(({ publicKey }) => publicKey), ...certificates];
  for (const file of [input.ca, `${input.ca}.pub`, ...read]) await assertReadable(file);
  const authority = await authorityOf(input);
  // All keys are read before one is signed, and all are signed before a certificate is replaced.
  const planned: Planned[] = [];
  for (const { key, publicKey } of keys)
    planned.push(await plan(key, publicKey, authority.fingerprint, input));
  const signed: { readonly key: CertifiedKey; readonly contents?: Buffer }[] = [];
  for (const one of planned) signed.push(await certifyKey(one, input));
  for (const { key, contents } of signed)
    if (contents !== undefined && !input.dryRun)
      await writeAtomically(key.file, contents, { mode: 0o644 });
  return {
    keys: signed.map(({ key }) => key),
    knownHostsLine: `@cert-authority ${input.principals.join(',')} ${authority.text}`,
  };
}

interface Planned {
  readonly publicKey: string;
  readonly file: string;
  readonly present: HostCertificate | undefined;
  readonly reason: CertifiedKey['reason'] | undefined;
}

async function plan(
  hostKey: string,
  publicKey: string,
  authority: string,
  input: CertifyInput,
): Promise<Planned> {
  const file = certificateFileOf(hostKey);
  const present = await readHostCertificate(file);
  const wanted = {
    key: (await identityOf(publicKey)).fingerprint,
    authority,
    principals: input.principals,
  };
  const needed = present && renewalReason(present, wanted, input.now);
  return {
    publicKey,
    file,
    present,
    reason: needed ?? (input.force ? 'forced' : undefined),
  };
}

async function certifyKey(
  { publicKey, file, present, reason }: Planned,
  input: CertifyInput,
): Promise<{ readonly key: CertifiedKey; readonly contents?: Buffer }> {
  if (present !== undefined && reason === undefined)
    return { key: { file, change: 'kept', certificate: present } };
  const { certificate, contents } = await sign(publicKey, file, input);
  const key: CertifiedKey =
    present === undefined
      ? { file, change: 'made', certificate }
      : { file, change: 'renewed', certificate, reason };
  return { key, contents };
}

/** ssh-keygen writes beside the key, so it works on a copy. */
async function sign(
  publicKey: string,
  file: string,
  { ca, agent, principals, validitySeconds, identity, now, env }: CertifyInput,
): Promise<{ readonly certificate: HostCertificate; readonly contents: Buffer }> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-certify-'));
  try {
    const copy = join(directory, 'key.pub');
    copyFileSync(publicKey, copy);
    const words = ['-s', ca, ...(agent ? ['-U'] : []), '-q', '-h', '-I', identity];
    // A serial number, so that a certificate can be revoked.
    words.push('-n', principals.join(','), '-z', String(Math.floor(now / 1000)));
    words.push('-V', `-${tolerance}s:+${validitySeconds}s`, copy);
    await runKeygen(words, env);
    const made = join(directory, 'key-cert.pub');
    const certificate = await readHostCertificate(made);
    if (certificate === undefined) throw new Error(`ssh-keygen made no certificate for ${file}`);
    return { certificate, contents: await readFile(made) };
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The CA's public key, `TYPE BASE64 COMMENT`. Without a file beside the private key, ssh-keygen computes it. */
async function authorityOf({
  ca,
  agent,
  env,
}: CertifyInput): Promise<{ readonly text: string; readonly fingerprint: string }> {
  if (!isFile(ca)) throw usage(`--ca ${ca}: no such file`);
  if (!agent && ca.endsWith('.pub'))
    throw usage(`--ca ${ca} is a public key: name the private key, or add --agent`);
  const file = agent || ca.endsWith('.pub') ? ca : `${ca}.pub`;
  const text = (
    isFile(file) ? await readFile(file, 'utf8') : await runKeygen(['-y', '-f', ca], env)
  ).trim();
  if (!/^[a-z][\w@.-]* [A-Za-z0-9+/=]+(?: .*)?$/.test(text))
    throw usage(`${file} is not a public key of SSH`);
  const { fingerprint } = await identityOf(isFile(file) ? file : ca);
  return { text, fingerprint };
}

function publicHalf(key: string): string {
  const file = key.endsWith('.pub') ? key : `${key}.pub`;
  if (file.endsWith('-cert.pub')) throw usage(`--host-key ${key} is a certificate, not a key`);
  if (isFile(file)) return file;
  throw new BerthError('host-key-missing', `there is no host key ${file}`);
}

/** ssh-keygen would wait for the writer of a FIFO, and need minutes for a large file. The file need not exist. */
async function assertReadable(file: string): Promise<void> {
  await readConfigText(file, '').catch((error: unknown) => {
    if (!(error instanceof BerthError) || error.code !== 'config-missing') throw error;
  });
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Names or addresses; clients do not take patterns. */
function assertPrincipal(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9.:_-]*$/.test(name))
    throw usage(`--principal ${name}: not the name or the address of a host`);
}

function usage(message: string): BerthError {
  return usageError('berth sshd certify', message);
}
