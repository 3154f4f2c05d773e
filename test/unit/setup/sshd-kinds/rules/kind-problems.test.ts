import { expect, it } from 'vitest';
import {
  kindProblems,
  type KindState,
} from '../../../../../src/setup/sshd-kinds/rules/kind-problems.ts';

const day = 86_400_000;
const now = Date.UTC(2026, 0, 2);
const state: KindState = {
  ...{ name: 'podman', drained: false, changedFiles: [], samePort: [], silentPorts: [] },
  ...{ unit: { unit: 'known', active: 'active', enabled: true }, certificates: [] },
};
const certificate = {
  ...{ key: 'SHA256:one', keyId: 'login1', principals: ['login.example.org'] },
  ...{ from: now - 100 * day, until: now + day },
} as unknown as NonNullable<KindState['certificates'][number]['certificate']>;

const messages = (changed: Partial<KindState>): readonly string[] =>
  kindProblems({ ...state, ...changed }, { now }).map(({ message }) => message);

it('a port at two addresses is named once', () => {
  expect(messages({ silentPorts: [332, 332] })).toEqual(['nothing listens on port 332']);
  expect(messages({ silentPorts: [332, 333, 332] })).toEqual(['nothing listens on ports 332, 333']);
});

it.each([
  [day / 2, 'less than a day'],
  [day, '1 day'],
  [2.5 * day, '2 days'],
])('a certificate that ends %i ms later expires in %s', (left, text) => {
  const ending = { ...certificate, until: now + left };
  expect(
    messages({ certificates: [{ file: '/c', keys: ['SHA256:one'], certificate: ending }] }),
  ).toEqual([`/c expires in ${text}`]);
});

it("a certificate for another host's key is for none of this kind's", () => {
  expect(messages({ certificates: [{ file: '/c', keys: ['SHA256:two'], certificate }] })).toEqual([
    "/c is for none of this kind's host keys",
  ]);
});

it('a listener that does not run on a drained node is no problem', () => {
  const unit = { unit: 'known', active: 'inactive', enabled: true } as const;
  expect(messages({ unit, drained: true })).toEqual([]);
  expect(messages({ unit })).toEqual(['berth-sshd@podman is inactive']);
});
