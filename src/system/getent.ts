import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from './errors/berth-error.ts';
import { runProgram } from './run-program.ts';

/** Keys in one call: the length of arguments is limited (ARG_MAX). */
const keysPerCall = 1_000;

/** Largest output in bytes; a directory with a million users yields about 100 MiB of passwd. */
const longestAnswer = 2 ** 30;

/** Services that list all their entries. */
const local = /^(?:files|compat|db|systemd|mymachines|altfiles|extrausers)$/;

/**
 * Lines of an NSS database, from getent(1). Unknown keys are left out.
 *
 * @param keys all entries that NSS enumerates if absent
 * @throws {BerthError} `nss-failed`
 */
export async function getent(database: string, keys?: readonly string[]): Promise<string[]> {
  if (keys === undefined) return call(database, []);
  const lines: string[] = [];
  for (let from = 0; from < keys.length; from += keysPerCall)
    lines.push(...(await call(database, keys.slice(from, from + keysPerCall))));
  return lines;
}

/**
 * Services of a database in nsswitch.conf(5) that list no entries of their own. Most directory services are set up like
 * that (`enumerate = false` of sssd), and one that is down lists none either.
 *
 * @param all what `getent(database)` has returned
 * @throws {BerthError} `nss-failed`
 */
export async function unlistedServices(
  database: string,
  all: readonly string[],
): Promise<string[]> {
  const others = await directoryServices(database);
  if (others.length === 0) return [];
  const nameOf = (entry: string) => entry.split(':', 1)[0] ?? '';
  const known = new Set((await call(database, [], 'files')).map(nameOf));
  const unlisted: string[] = [];
  for (const service of others) {
    // With one service, all that is not local is that one's. A large directory takes seconds.
    const listed = others.length === 1 ? all : await call(database, [], service);
    if (listed.every((entry) => known.has(nameOf(entry)))) unlisted.push(service);
  }
  return unlisted;
}

/** The services of a database in nsswitch.conf(5) that are not of this host, such as `sss`. */
export async function directoryServices(database: string, prefix = '/'): Promise<string[]> {
  const text = await readFile(join(prefix, 'etc/nsswitch.conf'), 'utf8').catch(() => '');
  const [, line = ''] = new RegExp(`^[ \\t]*${database}[ \\t]*:(.*)$`, 'm').exec(text) ?? [];
  const services = line.replaceAll(/\[[^\]]*\]|#.*/g, ' ').split(/\s+/);
  return services.filter((service) => service !== '' && !local.test(service));
}

async function call(
  database: string,
  keys: readonly string[],
  service?: string,
): Promise<string[]> {
  const words = [...(service === undefined ? [] : ['-s', service]), '--', database, ...keys];
  const options = { maxBuffer: longestAnswer };
  const { error, stdout } = await runProgram('/usr/bin/getent', words, options);
  // 2: a key was not found.
  if (error !== undefined && !(error.code === 2 && keys.length > 0))
    throw new BerthError('nss-failed', `getent ${database}: ${error.message.trim()}`, {
      cause: error,
    });
  return stdout.split('\n').filter((line) => line !== '');
}
