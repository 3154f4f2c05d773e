import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { bashFill, bashWord } from '../../../../src/sessions/request/bash-words.ts';
import {
  containerFunction,
  sbatchScript,
} from '../../../../src/companions/notebooks/rules/sbatch.ts';
import { sbatchOptions } from '../../../../src/sessions/backends/slurm/argv/sbatch-options.ts';
import { host } from '../../sessions/request/host.ts';

const profile = (fields: object = {}) => parseProfile({ image: 'a', ...fields }, 'p', 'p.yml');
const options = (fields: object) => sbatchOptions(profile(fields));

describe('what a job asks of Slurm', () => {
  it('is what the profile says, and its limits', () => {
    const batch = {
      ...{ partition: 'short,long', account: 'physics', qos: 'normal' },
      ...{ gres: 'gpu:a100:2', constraint: '[rack1|rack2]&ib' },
    };
    expect(options({ batch, limits: { cpus: 2.5, memory: '2G' } })).toEqual([
      ...['--job-name=p', '--partition=short,long', '--account=physics', '--qos=normal'],
      ...['--gres=gpu:a100:2', '--constraint=[rack1|rack2]&ib', '--ntasks=1'],
      ...['--cpus-per-task=3', '--mem=2097152K'],
    ]);
  });

  it.each([
    [{ lifetime: 'user' }, undefined],
    [{ lifetime: '8h' }, '0-08:00:00'],
    [{ lifetime: '8h', batch: { time: '36h' } }, '1-12:00:00'],
    [{ batch: { time: '90s' } }, '0-00:01:30'],
  ])('has a time limit where the profile has one: %j', (fields, time) => {
    const found = options(fields).find((option) => option.startsWith('--time='));
    expect(found).toBe(time === undefined ? undefined : `--time=${time}`);
  });

  it('is not rendered for limits that only sessions have', () => {
    expect(() => sbatchScript(profile({ timeouts: { idle: '30m' } }), host)).toThrow(
      'the profile p has timeouts.idle, which is not supported for batch jobs',
    );
    const warned = profile({ lifetime: '1h', timeouts: { warn: ['5m'] } });
    expect(() => sbatchScript(warned, host)).toThrow('timeouts.warn');
  });

  it.each([
    'a b',
    'a\n#SBATCH --uid=0',
    '',
    '-w',
    '$(id)',
    '`id`',
    'a;b',
    '"a"',
    "'a'",
    'a#b',
    'ä',
  ])('cannot be led out of its line by %j', (word) => {
    for (const key of ['partition', 'account', 'qos', 'gres', 'constraint'])
      expect(() => profile({ batch: { [key]: word } })).toThrow(`batch.${key}`);
  });
});

describe('a word of the script', () => {
  it.each([
    ['/usr/bin/podman', '/usr/bin/podman'],
    ['a b', '"a b"'],
    ['$HOME/x', '"${HOME}/x"'],
    ['${USER}-$UID:$GID', '"${USER}-$(id -u):$(id -g)"'],
    ['$$HOME `id` "x" \\', String.raw`"\$HOME \`id\` \"x\" \\"`],
  ])('%s', (template, word) => {
    expect(bashWord(bashFill(template))).toBe(word);
  });
});

it('leaves the limits, the cgroup and the agent to the job', () => {
  const text = containerFunction(profile({ limits: { cpus: 1, memory: '1G', pids: 9 } }), host);
  expect(text).toContain('--cgroups disabled');
  expect(text).not.toMatch(/--cpus|--memory|--pids-limit|run\/berth\/tmp/);
});

it('has each mount once: one that may be missing is added by its own line', () => {
  const source = '/scratch/$USER';
  const mounts = [{ source, target: '/tmp', missing: 'skip' }, { source: '/data' }];
  const text = containerFunction(profile({ mounts }), host);
  expect(text).toContain(
    '[ ! -e "/scratch/${USER}" ] || container+=(--mount "type=bind,source=/scratch/${USER},target=/tmp,',
  );
  expect(text.split('target=/tmp,')).toHaveLength(2);
  expect(text).not.toContain('--volume /tmp');
  expect(text).toContain('--mount type=bind,source=/data,target=/data,');
});
