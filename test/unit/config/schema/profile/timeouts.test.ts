import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import type { Profile } from '../../../../../src/config/schema/profile/profile.ts';
import { parseYaml, readYaml } from '../../../../../src/config/schema/yaml-document.ts';
import { refusal } from '../refusal.ts';

const file = '/etc/berth/profiles/p.yml';
const profile = (text: string): Profile =>
  parseProfile(parseYaml(`image: a\n${text}`, file, 'core'), 'p', file);

describe('the time limits of a profile', () => {
  it.each([
    ['lifetime: connection', { kind: 'connection' }],
    ['lifetime: user', { kind: 'user', graceMs: 600_000, linger: false }],
    ['{lifetime: user, grace: 0s, linger: true}', { kind: 'user', graceMs: 0, linger: true }],
    ['{lifetime: 8h, linger: true}', { kind: 'user', graceMs: 28_800_000, linger: true }],
  ])('have the lifetime of %s', (text, lifetime) => {
    const document = parseYaml(text, file, 'core') as object;
    expect(parseProfile({ image: 'a', ...document }, 'p', file).lifetime).toEqual(lifetime);
  });

  it('are the same by a lifetime that is a time', () => {
    expect(profile('lifetime: 8h').timeouts.hardMs).toBe(28_800_000);
    expect(
      profile('lifetime: user\ntimeouts: {hard: 8h, soft: 1h, idle: 2h, warn: []}').timeouts,
    ).toEqual({
      ...{ hardMs: 28_800_000, softMs: 3_600_000, idleMs: 7_200_000, warnMs: [] },
    });
  });

  it.each([
    [
      'image: a\nlifetime: user\ntimeouts:\n  hard: 1h\n  soft: 1h\n',
      '5:9: timeouts.soft must be less than timeouts.hard',
    ],
    [
      'image: a\nlifetime: 1h\ntimeouts:\n  warn:\n    - 5m\n    - 2h\n',
      '6:7: timeouts.warn.2 must be less than lifetime',
    ],
  ])('are refused at the place of a contradiction: %j', (text, message) => {
    const { value, place } = readYaml(text, file, 'core');
    const error = refusal(() => parseProfile(value, 'p', file, place));
    expect(error.message).toContain(`${file}:${message}`);
  });

  it.each([
    [
      '{lifetime: 8h, timeouts: {hard: 9h}}',
      'timeouts.hard is a second time limit beside lifetime',
    ],
    ['{lifetime: 8h, timeouts: {idle: 9h}}', 'timeouts.idle must be less than lifetime'],
    ['timeouts: {soft: 9h}', 'timeouts.soft needs lifetime: user or a time'],
    ['timeouts: {warn: [5m]}', 'timeouts.warn needs timeouts.hard'],
    ['timeouts: {idle: 0s}', 'timeouts.idle must be a time from 1s'],
    [
      '{backend: slurm, timeouts: {hard: 1h}, batch: {time: 2h}}',
      'timeouts.hard is a second time limit of the job beside batch.time',
    ],
    [
      '{backend: slurm, timeouts: {hard: 1h}, batch: {choose: {time: {max: 2h}}}}',
      'timeouts.hard is a second time limit of the job beside batch.choose.time',
    ],
  ])('are refused if they are %s', (text, message) => {
    const document = parseYaml(text, file, 'core') as object;
    const error = refusal(() => parseProfile({ image: 'a', ...document }, 'p', file));
    expect(error.message).toContain(message);
  });
});
