import { describe, expect, it } from 'vitest';
import { allocationScript } from '../../../../../src/sessions/backends/slurm/argv/allocation-script.ts';
import {
  profileChoices,
  withChoices,
} from '../../../../../src/sessions/backends/slurm/argv/choices.ts';
import { sbatchOptions } from '../../../../../src/sessions/backends/slurm/argv/sbatch-options.ts';
import { profilesAnswer } from '../../../../../src/cli/self-service/answers.ts';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import type { Profile } from '../../../../../src/config/schema/profile/profile.ts';
import { parseSshSettings, sshSettings } from '../../../../../src/config/schema/ssh-settings.ts';

const choose = {
  time: { max: '8h' },
  memory: { max: '16G' },
  gres: ['gpu:1', 'gpu:2'],
  account: 'any',
  constraint: 'any',
};
const profile = parseProfile(
  { image: 'a', backend: 'slurm', batch: { time: '1h', gres: 'gpu:1', choose } },
  'gpu',
  'gpu.yml',
);
const optionsOf = (env: Record<string, string>) => sbatchOptions(withChoices(profile, env));

describe('what a client chooses', () => {
  it('replaces what the profile asks for', () => {
    const env = {
      BERTH_TIME: '4h',
      BERTH_MEMORY: '8G',
      BERTH_GRES: 'gpu:2',
      BERTH_ACCOUNT: 'physics',
    };
    expect(optionsOf(env)).toEqual([
      ...['--job-name=gpu', '--account=physics', '--gres=gpu:2'],
      ...['--time=0-04:00:00', '--ntasks=1', '--mem=8388608K'],
    ]);
    expect(optionsOf({})).toContain('--time=0-01:00:00');
    expect(optionsOf({ BERTH_TIME: '04:30:00' })).toContain('--time=0-04:30:00');
    expect(optionsOf({ BERTH_TIME: '90:00' })).toContain('--time=0-01:30:00');
    expect(optionsOf({ BERTH_TIME: '0-2:30' })).toContain('--time=0-02:30:00');
    const constraint = '[rack1*2&rack2*4]';
    expect(optionsOf({ BERTH_CONSTRAINT: constraint })).toContain(`--constraint=${constraint}`);
  });

  it.each([
    ['BERTH_TIME', '9h', 'this profile allows at most 8h'],
    ['BERTH_TIME', '1-0', 'this profile allows at most 8h'],
    ['BERTH_TIME', '08:00:01', 'this profile allows at most 8h'],
    ['BERTH_TIME', '90', 'it must be a time such as 30m, 4h or 1-00:00:00'],
    ['BERTH_TIME', '0s', 'it must be a time such as 30m, 4h or 1-00:00:00'],
    ['BERTH_TIME', '1h --wrap=x', 'it must be a time such as 30m, 4h or 1-00:00:00'],
    ['BERTH_MEMORY', '17G', 'this profile allows at most 16G'],
    ['BERTH_CONSTRAINT', 'a b', 'it must be one word'],
    ['BERTH_CPUS', '2', 'this profile does not let you choose it'],
    ['BERTH_GRES', 'gpu:8', 'choose gpu:1 or gpu:2'],
    ['BERTH_QOS', 'high', 'this profile does not let you choose it'],
    ['BERTH_ACCOUNT', 'a b', 'it must be one word'],
    ['BERTH_ACCOUNT', '--uid=0', 'it must be one word'],
    ['BERTH_ACCOUNT', 'a\n#SBATCH --uid=0', 'it must be one word'],
    ['BERTH_ACCOUNT', '$(id)', 'it must be one word'],
  ])('%s=%j is refused: %s', (name, value, why) => {
    expect(() => withChoices(profile, { [name]: value })).toThrow(
      `${name}=${JSON.stringify(value)} is not possible: ${why}`,
    );
  });

  it('is offered with its limits', () => {
    expect(profileChoices(profile)).toEqual([
      { variable: 'BERTH_TIME', max: '8h' },
      { variable: 'BERTH_MEMORY', max: '16G' },
      { variable: 'BERTH_ACCOUNT' },
      { variable: 'BERTH_GRES', values: ['gpu:1', 'gpu:2'] },
      { variable: 'BERTH_CONSTRAINT' },
    ]);
    expect(profileChoices({ ...profile, backend: 'podman' })).toEqual([]);
    const small = { time: { max: '90s' }, memory: { max: '512K' } };
    const document = { image: 'a', backend: 'slurm', batch: { choose: small } };
    expect(profileChoices(parseProfile(document, 'small', 'small.yml'))).toEqual([
      { variable: 'BERTH_TIME', max: '90s' },
      { variable: 'BERTH_MEMORY', max: '512K' },
    ]);
  });

  // A rule of ssh.yml can say `backend: slurm` of a profile whose keys do not contradict each other by themselves.
  it.each([
    ['timeouts', { lifetime: 'user', timeouts: { hard: '2h' } }],
    ['lifetime', { lifetime: '2h' }],
  ])('is never more time than %s of a profile that a rule puts into jobs', (_, limit) => {
    const ofRule = parseProfile(
      { image: 'a', ...limit, batch: { time: '3h', choose: { time: { max: '8h' } } } },
      'p',
      'p.yml',
    );
    const inJob: Profile = { ...ofRule, backend: 'slurm' };
    const timeOf = (env: Record<string, string>): string | undefined =>
      /--time=\S+/.exec(
        allocationScript(
          withChoices(inJob, env),
          sshSettings(parseSshSettings({}, 'ssh.yml'), new Map(), 'ssh.yml'),
          { name: 'berth-p', key: '0123456789abcdef', login: '/usr/lib/berth/shell/login' },
        ),
      )?.[0];
    expect(timeOf({})).toBe('--time=0-02:00:00');
    expect(timeOf({ BERTH_TIME: '90m' })).toBe('--time=0-01:30:00');
    expect(() => withChoices(inJob, { BERTH_TIME: '3h' })).toThrow('allows at most 2h');
    expect(profileChoices(inJob)).toEqual([{ variable: 'BERTH_TIME', max: '2h' }]);
    const { text } = profilesAnswer([{ profile: inJob, isDefault: true }]);
    expect(text).toMatch(/ 2 h +BERTH_TIME up to 2h$/m);
  });
});
