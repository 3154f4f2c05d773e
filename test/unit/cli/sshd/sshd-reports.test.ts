import { describe, expect, it } from 'vitest';
import { kindsText } from '../../../../src/cli/sshd/state.ts';
import { lintText, newKindText } from '../../../../src/cli/sshd/lint-report.ts';
import type { KindUnit } from '../../../../src/setup/sshd-kinds/kind.ts';

const unit: KindUnit = {
  ...{ name: 'berth-sshd@podman.service', active: 'inactive', enabled: true },
  unit: 'known',
};
const kind = {
  ...{ name: 'podman', file: '/etc/ssh/berth/podman.conf', unit, drained: true },
  ...{
    endpoints: [{ address: '*', port: 332 }],
    hostKeys: [],
    accepted: [],
    problems: [],
  },
};
const undrain =
  'this node is drained (/etc/berth/drain): `berth node undrain` starts its listeners';

describe('kinds of session on a drained node', () => {
  it('are shown as drained, with what starts them', () => {
    const lines = kindsText([kind]).split('\n');
    expect(lines[1]).toContain('drained, enabled');
    expect(lines.slice(2)).toEqual(['', undrain, '']);
    const problem = { code: 'x-y', message: 'wrong', next: 'do it' };
    expect(
      kindsText([{ ...kind, problems: [problem] }])
        .split('\n')
        .slice(2),
    ).toEqual([...['', undrain, '', 'podman: wrong [x-y]', '        next: do it', '']]);
  });

  it('that run or failed are shown as systemd says it', () => {
    for (const active of ['active', 'failed'])
      expect(kindsText([{ ...kind, unit: { ...unit, active } }])).toContain(`${active}, enabled`);
  });

  it('are started after the undrain when they are new', () => {
    const made = {
      ...{ file: kind.file, change: 'new', text: '' },
      lint: { host: [], matches: [], samples: [] },
    } as unknown as Parameters<typeof newKindText>[0]['made'];
    const start = (drained: boolean): string =>
      newKindText({ made, unit, drained, dryRun: false }, { colour: false });
    expect(start(true)).toContain(
      'next: this node is drained; after `berth node undrain`: systemctl enable --now berth-sshd@podman\n',
    );
    expect(start(false)).toContain('next: start it: systemctl enable --now berth-sshd@podman\n');
  });
});

it('kinds on a node in service are shown as systemd says it', () => {
  const text = kindsText([{ ...kind, drained: false }]);
  expect(text).toContain('inactive, enabled');
  expect(text).not.toContain('drained');
});

it('the count has each severity of a finding that is critical for one user and a weakness for another', () => {
  const endpoint = {
    address: '192.0.2.1',
    host: 'client',
    localAddress: '192.0.2.2',
    localPort: 22,
  };
  const finding = (severity: 'critical' | 'weakness') => ({
    code: 'user-rc' as const,
    severity,
    message: 'sshd runs ~/.ssh/rc',
    closedBy: 'PermitUserRC no',
  });
  const sample = (user: string, ...severities: readonly ('critical' | 'weakness')[]) => ({
    user,
    known: true,
    alike: 0,
    endpoint,
    findings: severities.map(finding),
  });
  const samples = [sample('alice', 'critical', 'weakness'), sample('bob', 'weakness')];
  const lint = { host: [], matches: [], samples, leftOut: 0, files: [] };
  expect(lintText(lint as unknown as Parameters<typeof lintText>[0], { colour: false })).toMatch(
    /: 1, weaknesses: 1, advice: 0; 2 different accounts and 2 connections checked\n$/,
  );
});
