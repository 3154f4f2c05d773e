import { expect, it } from 'vitest';
import type { Profile } from '../../../../../../src/config/schema/profile/profile.ts';
import { containerSession } from '../../../../../../src/sessions/backends/podman/argv/session-command.ts';
import { sessionRequest } from '../../../../../../src/sessions/request/session-request.ts';

const user = { name: 'ada', uid: 1000, gid: 1000, groups: [], home: '/home/ada', shell: '/bin/sh' };
const profile = { environment: { pass: [], set: {} } } as unknown as Profile;
const host = { user, storage: '/s', runtimeDir: '/r', podman: {} } as never;

const pathOf = (command: string, hasBundledTools: boolean): string | undefined => {
  const container = {
    ...{
      id: 'C',
      pid: 2,
      pausePid: 1,
      env: ['PATH=/opt/bin:/bin'],
      terminalRelay: 'runtime' as const,
    },
    ...{ shell: '/bin/sh', cwd: '/', hasBundledTools },
  };
  const request = sessionRequest(['-c', command], undefined, false);
  return containerSession(host, container, { request, profile, env: {} }).env.PATH;
};

it('finds the bundled scp last, where an image may have none (scp -O)', () => {
  expect(pathOf('scp -t file', true)).toBe('/opt/bin:/bin:/run/berth/files');
});

it.each([
  ['another command', 'scpx -t file', true],
  ['no bundled files', 'scp -t file', false],
])('has the PATH of the image for %s', (_what, command, bundled) => {
  expect(pathOf(command, bundled)).toBe('/opt/bin:/bin');
});
