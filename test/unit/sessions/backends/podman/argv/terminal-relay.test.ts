import { describe, expect, it } from 'vitest';
import { terminalRelay } from '../../../../../../src/sessions/backends/podman/argv/session-command.ts';

describe('who relays the terminal', () => {
  it.each([
    ['/usr/bin/crun', 'crun version 1.8.1\ncommit: x\n', 'podman'],
    ['/usr/bin/crun', 'crun version 1.8.6\n', 'podman'],
    ['/usr/bin/crun', 'crun version 1.8.7\n', 'runtime'],
    ['/usr/bin/crun', 'crun version 1.14\n', 'runtime'],
    ['/usr/bin/crun', 'crun version 0.20.1\n', 'podman'],
    ['/usr/bin/crun', 'crun version 2.0\n', 'runtime'],
    ['/usr/bin/crun', '', 'podman'],
    ['/usr/sbin/runc', 'runc version 1.1.5\n', 'runtime'],
  ])('%s %s: %s', (runtime, version, expected) => {
    expect(terminalRelay(runtime, version)).toBe(expected);
  });
});
