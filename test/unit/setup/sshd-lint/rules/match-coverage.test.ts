import { expect, it } from 'vitest';
import {
  chosenOf,
  distinctConnections,
  othersOf,
} from '../../../../../src/setup/sshd-lint/rules/distinct-connections.ts';
import {
  groupAccounts,
  matchingBlocks,
} from '../../../../../src/setup/sshd-lint/rules/match-coverage.ts';
import {
  type MatchBlock,
  matchesConnection,
  parseMatchCriteria,
} from '../../../../../src/setup/sshd-lint/rules/match.ts';

const block = (...args: readonly string[]): MatchBlock => ({
  ...{ file: 'sshd_config', line: 1, text: args.join(' ') },
  criteria: parseMatchCriteria({ args }),
});
const endpoint = { host: 'client.invalid', localAddress: '192.0.2.1', localPort: 22 };
const blocks = [
  ...Array.from({ length: 450 }, (_, index) => block('Group', `project${index * 10}`)),
  ...Array.from({ length: 49 }, (_, index) => block('Address', `10.${index}.0.0/16`)),
  block('User', 'person7', 'Group', 'project7*'),
];
const account = (index: number) => ({
  name: `person${index}`,
  uid: 1000 + index,
  groups: [0, 1_301, 2_602].map((nth) => `project${(index * 7 + nth) % 5_000}`),
  shell: '/bin/sh',
});

it(
  '60,000 accounts and 500 Match blocks take seconds of a processor, not minutes',
  { timeout: 60_000 },
  () => {
    const accounts = Array.from({ length: 60_000 }, (_, index) => account(index));
    const began = process.cpuUsage();
    const kinds = groupAccounts(accounts, blocks, () => '');
    const probes = Array.from({ length: 50 }, (_, place) => `10.${place}.0.9`).flatMap((address) =>
      kinds.map(({ name, groups }) => ({
        connection: { ...endpoint, address, user: name, groups },
      })),
    );
    const distinct = distinctConnections(probes, blocks);
    const { user } = process.cpuUsage(began);
    expect(user / 1e6).toBeLessThan(10);
    expect(kinds.length + kinds.reduce((sum, { alike }) => sum + alike, 0)).toBe(accounts.length);
    // Each network has a block of its own, except the last.
    expect(distinct).toHaveLength(kinds.length * 50);
  },
);

it('accounts are alike if the same blocks match them', () => {
  const accounts = Array.from({ length: 40 }, (_, index) => account(index));
  const kinds = groupAccounts(accounts, blocks, () => '');
  const wanted = new Set(accounts.map((one) => matchingBlocks(one, blocks).join(' ')));
  expect(kinds).toHaveLength(wanted.size);
  expect(kinds.map(({ name }) => name)).toContain('person7');
});

it('a limit on connections leaves out no block that applies to any', () => {
  const probes = Array.from({ length: 5_000 }, (_, index) => account(index)).map(
    ({ name, groups }, index) => ({
      connection: { ...endpoint, address: `10.${Math.floor(index / 100)}.0.9`, user: name, groups },
    }),
  );
  const chosen = chosenOf(probes, blocks, 400);
  const met = (some: typeof probes) =>
    blocks.filter((one) => some.some(({ connection }) => matchesConnection(one, connection)));
  expect(met(chosen)).toEqual(met(probes));
  expect(met(probes)).toHaveLength(499);
  expect(chosen.length).toBeLessThan(blocks.length);
  expect(chosenOf(probes, blocks, 1000)).toHaveLength(1000);
  expect(chosenOf(probes.slice(0, 300), blocks, 400)).toEqual(probes.slice(0, 300));
});

it('tries a block with another account if sshd refuses the one before', () => {
  const of = (user: string, address: string) => ({
    connection: { ...endpoint, address, user, groups: [] },
  });
  const networks = Array.from({ length: 10 }, (_, index) => block('Address', `10.${index}.0.0/16`));
  const users = ['root', ...Array.from({ length: 60 }, (_, index) => `person${index}`)];
  const probes = networks.flatMap((_, index) => users.map((user) => of(user, `10.${index}.0.9`)));
  const chosen = new Set(chosenOf(probes, networks, 10));
  expect([...chosen].map(({ connection }) => connection.user)).toEqual(networks.map(() => 'root'));
  const letIn = (one: (typeof probes)[number]) =>
    chosen.has(one) ? one.connection.user !== 'root' : undefined;
  const others = othersOf(probes, networks, letIn);
  expect(others.map(({ connection }) => connection.user)).toEqual(networks.map(() => 'person0'));
  expect(othersOf(probes, networks, (one) => chosen.has(one) || undefined)).toEqual([]);
});
