import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheFolder } from '../folders.ts';
import { step } from '../progress.ts';

const version = '26.4.0';

/** The realm that every site starts with. */
const realmFile = new URL('realm.json', import.meta.url).pathname;

/** Build options of `kc.sh build`: a file as database, no management interface on a second port. */
const buildOptions = ['--db=dev-file', '--health-enabled=false', '--metrics-enabled=false'];

/**
 * What makes a start quick at the cost of peak speed: no optimising compiler, the collector without
 * threads. Half a gigabyte of heap is enough for a test realm.
 */
const javaOptions = [
  ...['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xms64m', '-Xmx512m'],
  ...['-Dfile.encoding=UTF-8', '-Djava.security.egd=file:/dev/urandom'],
];

/** A Keycloak that is built and has its realm in a database to copy. */
export interface KeycloakInstallation {
  /** `bin/kc.sh`. */
  readonly command: string;
  /** Folder that `KC_DB_URL_PATH` may point to after it is copied. */
  readonly database: string;
  /** Variables that every run of `kc.sh` wants. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Keycloak from Maven's registry, built for a quick start and with the realm imported: from the cache,
 * or made in about two minutes. The cache's key is what it is made from.
 */
export async function keycloakInstallation(): Promise<KeycloakInstallation> {
  const folder = join(cacheFolder, `keycloak-${version}-${await key()}`);
  if (!(await exists(folder))) await install(folder);
  return installationIn(folder);
}

function installationIn(folder: string): KeycloakInstallation {
  return {
    command: join(folder, `keycloak-${version}`, 'bin', 'kc.sh'),
    database: join(folder, 'database'),
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

async function install(folder: string): Promise<void> {
  const unfinished = `${folder}.${randomUUID()}`;
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
    await rename(unfinished, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * Downloads the distribution and unpacks it into `folder`. Maven works in there too: it keeps a note of
 * what it has unpacked in `target`, and would believe it the next time.
 */
async function download(folder: string): Promise<void> {
  await execa(
    'mvn',
    [
      ...['--quiet', '--batch-mode', 'dependency:unpack', `-DoutputDirectory=${folder}`],
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:zip`,
    ],
    { cwd: folder },
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
