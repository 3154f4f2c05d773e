import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheDirectory } from '../directories.ts';
import { step } from '../progress.ts';

const version = '26.4.0';

/** The realm of a new site. */
const realmFile = new URL('realm.json', import.meta.url).pathname;

/**
 * Options of `kc.sh build`: a database file, no management interface on a second port, and clients may authenticate with
 * a certificate.
 */
const buildOptions = [
  ...['--db=dev-file', '--health-enabled=false', '--metrics-enabled=false'],
  '--https-client-auth=request',
];

/**
 * Options for a quick start at the cost of peak speed: no optimizing compiler, and a garbage collector
 * without threads.
 */
const javaOptions = [
  ...['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xms64m', '-Xmx512m'],
  ...['-Dfile.encoding=UTF-8', '-Djava.security.egd=file:/dev/urandom'],
];

/** A built Keycloak, and a database with the realm, to be copied. */
export interface KeycloakInstallation {
  /** `bin/kc.sh`. */
  readonly command: string;
  /** Database directory; `KC_DB_URL_PATH` must name a copy of it. */
  readonly database: string;
  /** Environment variables for every run of `kc.sh`. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Downloads Keycloak with Maven, builds it and imports the realm, which takes about two minutes, unless the
 * result is in the cache. The cache key is a hash of the options and the realm.
 */
export async function keycloakInstallation(): Promise<KeycloakInstallation> {
  const directory = join(cacheDirectory, `keycloak-${version}-${await key()}`);
  if (!existsSync(directory)) await install(directory);
  return installationIn(directory);
}

function installationIn(directory: string): KeycloakInstallation {
  return {
    command: join(directory, `keycloak-${version}`, 'bin', 'kc.sh'),
    database: join(directory, 'database'),
    env: { JAVA_OPTS: javaOptions.join(' ') },
  };
}

async function key(): Promise<string> {
  const hash = createHash('sha256').update([...buildOptions, ...javaOptions].join(' '));
  return hash
    .update(await readFile(realmFile))
    .digest('hex')
    .slice(0, 12);
}

async function install(directory: string): Promise<void> {
  const unfinished = `${directory}.${randomUUID()}`;
  const { command, database, env } = installationIn(unfinished);
  await mkdir(database, { recursive: true });
  try {
    await step(`downloading Keycloak ${version} with Maven`, () => download(unfinished));
    await step(`building Keycloak ${version}, once`, () =>
      execa(command, ['build', ...buildOptions], { env }),
    );
    await step('importing the realm into Keycloak, once', () =>
      execa(command, ['import', '--optimized', '--file', realmFile], {
        env: { ...env, KC_DB_URL_PATH: database },
      }),
    );
    await rename(unfinished, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * Downloads the distribution and unpacks it into `directory`. Maven runs there too, because it records
 * in `target` what it has unpacked, and would skip it the next time.
 */
async function download(directory: string): Promise<void> {
  await execa(
    'mvn',
    [
      ...['--quiet', '--batch-mode', 'dependency:unpack', `-DoutputDirectory=${directory}`],
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:zip`,
    ],
    { cwd: directory },
  );
}
