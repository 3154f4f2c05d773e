import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { installDirectory } from '../../rig/site/portal.ts';

/** UIDs that no account of this machine has, and one that has the name `nobody`. */
const [ended, endedToday, nobody] = [61_021, 61_022, 65_534];
const day = 24 * 3_600;

let directory: string;
let stateDir: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-ended-'));
  stateDir = join(directory, 'state');
  await mkdir(join(directory, 'clusters.d'));
  await writeFile(
    join(directory, 'berth.yml'),
    `state_dir: ${stateDir}\nhook_env: null\nclusters_dir: ${join(directory, 'clusters.d')}\n`,
  );
  await keep(ended, 'ada', 'one', 2 * day);
  await keep(endedToday, 'bob', 'one', day / 2);
  await keep(nobody, 'nobody', 'one', 2 * day);
  await keep(nobody, 'carl', 'two', 2 * day);
});
afterAll(() => rm(directory, { recursive: true }));

async function keep(uid: number, username: string, cluster: string, age: number): Promise<void> {
  const path = storedCredentialPath(stateDir, uid, cluster);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const credential = { version: 1, username, token: 'token', expiry: 1 };
  await writeFile(path, JSON.stringify(credential), { mode: 0o600 });
  const at = Date.now() / 1000 - age;
  await utimes(dirname(path), at, at);
}

it('the timer that renews tokens removes the credentials of accounts that have ended', async () => {
  const kept = (uid: number, cluster = 'one') =>
    existsSync(storedCredentialPath(stateDir, uid, cluster));
  const words = ['token', 'rotate', '--config', join(directory, 'berth.yml')];

  const { stderr } = await execa(join(installDirectory, 'berth'), words, { reject: false });

  expect(kept(ended), stderr).toBe(false);
  expect(stderr).toContain(`uid=${ended}`);
  // A directory service that is down looks the same.
  expect(kept(endedToday)).toBe(true);
  expect(kept(nobody)).toBe(true);
  // Of another person who had that UID.
  expect(kept(nobody, 'two')).toBe(false);
});
