import { readFileSync } from 'node:fs';
import type { CommandModule } from 'yargs';
import { installedPath } from '../installed-path.ts';
import type { Terminal } from './kit/terminal.ts';

/** The files of etc/completion, by shell. */
const files = { bash: 'berth.bash', fish: 'berth.fish', zsh: '_berth' } as const;
type Shell = keyof typeof files;

/** `berth completion`: what a shell reads to complete berth's command line. */
export function completionCommand(terminal: Terminal): CommandModule<object, { shell: Shell }> {
  return {
    command: 'completion <shell>',
    describe: 'Print the completion script for a shell',
    builder: (yargs) =>
      yargs
        .positional('shell', {
          choices: Object.keys(files) as Shell[],
          demandOption: true,
          describe: 'The shell that reads it',
        })
        .example('source <(berth completion bash)', 'For this shell')
        .example(
          'berth completion fish >~/.config/fish/completions/berth.fish',
          'For each fish of this user',
        )
        .epilogue(
          'The packages install it for all three shells. It completes commands, options, and the names of users, clusters, profiles, kinds of sessions and error codes.',
        ),
    handler: ({ shell }) => {
      const path = installedPath(`share/etc/completion/${files[shell]}`);
      terminal.stdout.write(readFileSync(path, 'utf8'));
    },
  };
}
