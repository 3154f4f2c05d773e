import { expect, it } from 'vitest';
import { root } from '../../../../src/cli/command-line.ts';
import { commandPlace, withPresentNames } from '../../../../src/cli/kit/command-place.ts';

const now = (line: string) => {
  const { args, notices } = withPresentNames(root, line.split(' '));
  return { line: args.join(' '), notices };
};

it.each([
  ['lint sshd --user a', 'sshd lint --user a', 'berth lint sshd', 'berth sshd lint'],
  ['reap --cluster=a', 'clusters reap --cluster=a', 'berth reap --cluster', 'berth clusters reap'],
  [
    'reap --dry-run --in-cluster',
    'clusters reap --dry-run --in-cluster',
    'berth reap --in-cluster',
    'berth clusters reap',
  ],
  [
    'render --gitops flux --site d',
    'render site d --gitops flux',
    'berth render --site DIR',
    'berth render site DIR',
  ],
  ['render --site=d', 'render site d', 'berth render --site DIR', 'berth render site DIR'],
])('berth %s goes on as berth %s', (former, present, was, is) => {
  expect(now(former)).toEqual({ line: present, notices: [`${was} is a former name: use ${is}`] });
  expect(commandPlace(root, present.split(' ')).unknown).toEqual([]);
});

it.each([
  ['reap --config /etc/berth/ssh.yml', '--config', '--config-dir'],
  ['images pull --config ssh.yml', '--config', '--config-dir'],
  ['node drain --config ssh.yml', '--config', '--config-dir'],
  ['sessions end --config ssh.yml', '--config', '--config-dir'],
  ['sshd new a --settings ssh.yml', '--settings', '--config-dir'],
  ['sshd check --settings ssh.yml', '--settings', '--config-dir'],
  ['sshd lint --settings ssh.yml', '--settings', '--config-dir'],
  ['sshd lint --config sshd_config', '--config', '--sshd-config'],
  ['render balancer --config balancer.yml', '--config', '--list'],
])('berth %s: %s goes on', (line, was, is) => {
  expect(now(line)).toEqual({ line, notices: [`${was} is a former name: use ${is}`] });
});

it('says nothing about names of today', () => {
  for (const line of ['reap --dry-run', 'plan --config berth.yml', 'render site d', 'sshd lint'])
    expect(now(line)).toEqual({ line, notices: [] });
});
