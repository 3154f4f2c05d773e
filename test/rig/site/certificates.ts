import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/** Paths of a certificate and its key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const validDays = '30';

/** A certificate authority of this site alone, made with openssl, keys in `folder`. */
export class CertificateAuthority {
  readonly cert: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.cert = join(folder, 'ca.pem');
  }

  /** Makes the folder, the CA's key and its certificate. */
  static async create(folder: string): Promise<CertificateAuthority> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, 'openssl.cnf'), '[req]\ndistinguished_name = dn\n[dn]\n');
    const ca = new CertificateAuthority(folder);
    await openssl([
      ...ca.#newCertificate({ cert: ca.cert, key: join(folder, 'ca.key') }, '/CN=berth test site'),
      ...['-addext', 'basicConstraints=critical,CA:TRUE'],
      ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
    ]);
    return ca;
  }

  /** The CA that `create` left in this folder. */
  static open(folder: string): CertificateAuthority {
    return new CertificateAuthority(folder);
  }

  /** The CA's certificate, PEM. */
  pem(): Promise<string> {
    return readFile(this.cert, 'utf8');
  }

  /**
   * A certificate for servers on 127.0.0.1 and localhost, and on other addresses; also good as a
   * client's.
   */
  server(name: string, addresses: readonly string[] = []): Promise<KeyPair> {
    const others = addresses.map((address) => `,IP:${address}`).join('');
    return this.#issue(name, `/CN=${name}`, [
      `subjectAltName=IP:127.0.0.1,DNS:localhost${others}`,
      'extendedKeyUsage=serverAuth,clientAuth',
    ]);
  }

  /** A client certificate whose CN is the Kubernetes user and whose O are its groups. */
  client(user: string, groups: readonly string[] = []): Promise<KeyPair> {
    const organisations = groups.map((group) => `/O=${group}`).join('');
    return this.#issue(user.replaceAll(':', '-'), `${organisations}/CN=${user}`, [
      'extendedKeyUsage=clientAuth',
    ]);
  }

  async #issue(file: string, subject: string, extensions: readonly string[]): Promise<KeyPair> {
    const pair = {
      cert: join(this.#folder, `${file}.pem`),
      key: join(this.#folder, `${file}.key`),
    };
    await openssl([
      ...this.#newCertificate(pair, subject),
      ...['-CA', this.cert, '-CAkey', join(this.#folder, 'ca.key')],
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      ...extensions.flatMap((extension) => ['-addext', extension]),
    ]);
    return pair;
  }

  /** An empty configuration of our own: the machine's would add extensions to ours. */
  #newCertificate({ cert, key }: KeyPair, subject: string): string[] {
    return [
      ...['req', '-x509', '-config', join(this.#folder, 'openssl.cnf'), '-subj', subject],
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-keyout', key, '-out', cert, '-days', validDays],
    ];
  }
}

/** An RSA key pair for ServiceAccount tokens: the private key's path and the public key's. */
export async function signingKey(folder: string): Promise<{ private: string; public: string }> {
  const key = { private: join(folder, 'sa.key'), public: join(folder, 'sa.pub') };
  await openssl(['genpkey', '-algorithm', 'RSA', '-out', key.private]);
  const { stdout } = await openssl(['pkey', '-in', key.private, '-pubout']);
  await writeFile(key.public, `${stdout}\n`);
  return key;
}

async function openssl(args: readonly string[]): Promise<{ stdout: string }> {
  return await execa('openssl', args);
}
