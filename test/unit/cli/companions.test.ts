import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { companionCall, companionCommands } from '../../../src/cli/companions.ts';
import { command, commandTree } from '../../../src/cli/kit/command.ts';
import { text, words } from '../../../src/cli/kit/options.ts';

const run = (): void => undefined;
const pages = { companion: 'press', command: 'pages <directory>', describe: '' };
const root = commandTree({
  Commands: [
    command({ command: 'doctor', describe: '', run }),
    {
      command: 'render',
      describe: '',
      options: { user: text('user', ''), only: text('TEXT', '') },
      commands: [pages],
      run,
    },
    { companion: 'verify', command: 'verify <host>', describe: '' },
    { command: 'help [command..]', describe: '', positionals: { command: words(undefined, '') } },
  ],
});

it.each([
  ['verify', 'verify HOST --only sftp'],
  ['verify', '-q verify HOST'],
  ['verify', '--help verify'],
  ['verify', '-- verify HOST'],
  ['verify', '__complete verify --f'],
  ['press', 'render pages DIR --title=x'],
  ['press', '-q render --debug pages'],
  ['press', '__complete render pages --'],
  ['press', '__complete help render pages --'],
])('%s has `berth %s`', (name, line) => {
  expect(companionCall(root, line.split(' '))).toEqual({
    name,
    words: line.replace(/^-- /, '').split(' '),
  });
});

it.each([
  ['verify', 'help verify', 'verify --help'],
  ['press', 'help -q render pages', '-q render pages --help'],
])('%s has `berth %s`', (name, line, passed) => {
  expect(companionCall(root, line.split(' '))).toEqual({ name, words: passed.split(' ') });
});

it.each([
  '',
  '--help',
  'doctor verify',
  'render',
  'render --user pages pages',
  'render -- pages',
  'pages DIR',
  'help render',
  '__complete verify',
  '__complete help verify',
  '__complete render pages',
  '__test-session verify',
  'toString',
])('no companion has `berth %s`', (line) => {
  expect(companionCall(root, line.split(' '))).toBeUndefined();
});

it('each command of a companion has a program, and each program a command', () => {
  const programs = globSync('src/companions/*/berth-*.ts').map((file) => basename(file, '.ts'));
  const called = Object.values(companionCommands).map(({ companion }) => `berth-${companion}`);
  expect(programs.sort()).toEqual([...new Set(called)].sort());
});
