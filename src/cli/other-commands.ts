import { readFileSync } from 'node:fs';
import { buildId, sourceCommit } from '../system/program/build-id.ts';
import { installedPath } from '../system/program/installed-path.ts';
import { command } from './kit/command.ts';
import { choice, outputOption } from './kit/options.ts';
import { documentText } from './kit/terminal.ts';

/** The files of etc/completion, by shell. */
const scripts = { bash: 'berth.bash', fish: 'berth.fish', zsh: '_berth' } as const;

/** `berth completion`: what a shell reads to complete berth's command line. */
export const completionCommand = command({
  command: 'completion <shell>',
  describe: 'Print the completion script for a shell',
  positionals: {
    shell: choice(['bash', 'fish', 'zsh'], 'The shell that reads it', { demandOption: true }),
  },
  examples: [
    ['source <(berth completion bash)', 'For this shell'],
    ['berth completion fish >~/.config/fish/completions/berth.fish', 'For each fish of this user'],
  ],
  epilogue:
    'The packages install it for all three shells. It completes commands, options, and the names of users, clusters, profiles, kinds of sessions and error codes.',
  run: ({ shell }, { stdout }) => {
    const path = installedPath(`share/etc/completion/${scripts[shell]}`);
    stdout.write(readFileSync(path, 'utf8'));
  },
});

/** `berth version`: the program, and what it runs on. */
export const versionCommand = command({
  command: 'version',
  describe: 'Print the version of Berth and of its Node',
  options: { output: outputOption },
  examples: [
    ['berth version', 'For a bug report'],
    ['berth version -o json', 'For an inventory'],
  ],
  epilogue:
    'Equal sources give equal builds. `-o json` also has the commit. `berth --version` prints the version alone.',
  run: ({ output }, terminal) => {
    const version = {
      version: terminal.version,
      build: buildId ?? 'sources',
      commit: sourceCommit,
      node: process.versions.node,
      architecture: process.arch,
    };
    terminal.stdout.write(
      output === 'json'
        ? documentText('Version', version)
        : `berth ${version.version}, build ${version.build}, Node ${version.node}, ${version.architecture}\n`,
    );
  },
});
