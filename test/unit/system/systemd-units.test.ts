import { expect, it } from 'vitest';
import { startsAtBoot } from '../../../src/system/systemd-units.ts';

it.each([
  ['enabled', true],
  ['enabled-runtime', false],
  ['disabled', false],
  ['static', false],
  ['', false],
])('a unit that systemd calls %j starts at boot: %s', (state, starts) => {
  expect(startsAtBoot(state)).toBe(starts);
});
