import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

/** Paths of a certificate and its key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const validDays = '30';

/** A certificate authority for one test site, created with openssl. */
export class CertificateAuthority {
  readonly cert: string;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.cert = join(directory, 'ca.pem');
  }

  /** Creates the directory, the CA's key and its certificate. */
  static async create(directory: string): Promise<CertificateAuthority> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(join(directory, 'openssl.cnf'), '[req]\ndistinguished_name = dn\n[dn]\n');
    const ca = new CertificateAuthority(directory);
    await openssl([
      ...ca.#newCertificate(
        { cert: ca.cert, key: join(directory, 'ca.key') },
        '/CN=berth test site',
      ),
      ...['-addext', 'basicConstraints=critical,CA:TRUE'],
      ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
    ]);
    return ca;
  }

  /** The CA that `create` made in this directory. */
  static open(directory: string): CertificateAuthority {
    return new CertificateAuthority(directory);
  }

  /** The CA's certificate, PEM. */
  pem(): Promise<string> {
    return readFile(this.cert, 'utf8');
  }

  /** A certificate for servers on 127.0.0.1, localhost and `addresses`; it is valid for clients too. */
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
      cert: join(this.#directory, `${file}.pem`),
      key: join(this.#directory, `${file}.key`),
    };
    await openssl([
      ...this.#newCertificate(pair, subject),
      ...['-CA', this.cert, '-CAkey', join(this.#directory, 'ca.key')],
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      ...extensions.flatMap((extension) => ['-addext', extension]),
    ]);
    return pair;
  }

  /** Arguments with our own empty configuration: the machine's would add extensions. */
  #newCertificate({ cert, key }: KeyPair, subject: string): string[] {
    return [
      ...['req', '-x509', '-config', join(this.#directory, 'openssl.cnf'), '-subj', subject],
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-keyout', key, '-out', cert, '-days', validDays],
    ];
  }
}

/** Creates an RSA key pair for ServiceAccount tokens. @returns the paths of both keys */
export async function signingKey(directory: string): Promise<{ private: string; public: string }> {
  const key = { private: join(directory, 'sa.key'), public: join(directory, 'sa.pub') };
  await openssl(['genpkey', '-algorithm', 'RSA', '-out', key.private]);
  const { stdout } = await openssl(['pkey', '-in', key.private, '-pubout']);
  await writeFile(key.public, `${stdout}\n`);
  return key;
}

async function openssl(args: readonly string[]): Promise<{ stdout: string }> {
  return await execa('openssl', args);
}
