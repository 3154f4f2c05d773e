import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureCommand } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;
let directory: string;

beforeAll(async () => {
  await ensureCommand('systemd-analyze', 'systemd');
  directory = await mkdtemp(join(tmpdir(), 'units-'));
  await copyFile(
    join(etc, 'berth-token-rotate.timer'),
    join(directory, 'berth-token-rotate.timer'),
  );
  const service = await readFile(join(etc, 'berth-token-rotate.service'), 'utf8');
  // systemd looks whether the program is there: that of this test run stands for the installed one.
  const here = service.replace('/usr/lib/berth/berth', join(installDirectory, 'berth'));
  expect(here).not.toBe(service);
  await writeFile(join(directory, 'berth-token-rotate.service'), here);
});
afterAll(() => rm(directory, { recursive: true }));

describe('the units that renew the token', () => {
  it.each(['timer', 'service'])('berth-token-rotate.%s is accepted by systemd', async (kind) => {
    const { exitCode, stderr } = await execa(
      'systemd-analyze',
      ['verify', join(directory, `berth-token-rotate.${kind}`)],
      { reject: false },
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  it('run three times within the lifetime of a token', async () => {
    const [timer, service] = await Promise.all(
      ['timer', 'service'].map((kind) => readFile(join(etc, `berth-token-rotate.${kind}`), 'utf8')),
    );
    const calendar = /^OnCalendar=(.*)$/m.exec(timer ?? '')?.[1] ?? '';
    const { stdout } = await execa('systemd-analyze', ['calendar', '--iterations=4', calendar], {
      env: { TZ: 'UTC' },
    });
    const times = [...stdout.matchAll(/\w{3} (\S+) (\S+) UTC$/gm)].map(([, day, time]) =>
      Date.parse(`${day ?? ''}T${time ?? ''}Z`),
    );
    const gaps = times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 3_600_000);
    expect(gaps).toEqual([8, 8, 8]);
    expect(service).toContain('token rotate --lifetime 24h');
    expect(timer).toContain('Persistent=yes');
  });
});

describe('the units of the syncs, of cluster reaping, of discovery, of the pages and of metrics', () => {
  it.each([
    'berth-ldap-sync',
    'berth-slurm-sync',
    'berth-cluster-reap',
    'berth-clusters-discover',
    'berth-pages',
    'berth-metrics',
    'berth-token-rotate@',
  ])('%s is accepted by systemd', async (unit) => {
    const paths: string[] = [];
    for (const kind of ['service', 'timer']) {
      const text = await readFile(join(etc, `${unit}.${kind}`), 'utf8');
      // Of a template an instance is looked at.
      const path = join(directory, `${unit.replace(/@$/, '@reaper')}.${kind}`);
      await writeFile(path, text.replace('/usr/lib/berth/berth', join(installDirectory, 'berth')));
      paths.push(path);
    }
    const { exitCode, stderr } = await execa('systemd-analyze', ['verify', ...paths], {
      reject: false,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});

describe('the units of the broker', () => {
  it('are accepted by systemd', async () => {
    // Of templates instances are looked at: a connection's name, and a user's socket.
    const units = {
      'berth-broker@0-4711-1000.service': 'berth-broker@.service',
      'berth-broker@.service': 'berth-broker@.service',
      'berth-broker@1000.socket': 'berth-broker@.socket',
      'berth-broker.slice': 'berth-broker.slice',
    };
    const paths: string[] = [];
    for (const [name, unit] of Object.entries(units)) {
      const text = await readFile(join(etc, unit), 'utf8');
      const path = join(directory, name);
      await writeFile(path, text.replace('/usr/lib/berth/hooks', join(installDirectory, 'hooks')));
      paths.push(path);
    }
    const { exitCode, stderr } = await execa('systemd-analyze', ['verify', '--man=no', ...paths], {
      reject: false,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});

describe('the unit of a second sshd', () => {
  it('is accepted by systemd', async () => {
    await ensureCommand('sshd', 'openssh-server');
    const path = join(directory, 'berth-sshd@login.service');
    await copyFile(join(etc, 'berth-sshd@.service'), path);
    const { exitCode, stderr } = await execa('systemd-analyze', ['verify', '--man=no', path], {
      reject: false,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });
});
