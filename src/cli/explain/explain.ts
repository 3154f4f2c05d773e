import type { CommandModule } from 'yargs';
import { outputOption } from '../kit/report-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface ExplainArguments {
  readonly word?: string | undefined;
  readonly output: string;
}

/** `berth explain`: what an error code means, from docs/errors.md, and what a key of the configuration does. */
export function explainCommand(terminal: Terminal): CommandModule<object, ExplainArguments> {
  return {
    command: 'explain [word]',
    describe: 'Explain an error code, a linter finding, a doctor check or a configuration key',
    builder: (yargs) =>
      yargs
        .positional('word', {
          type: 'string',
          describe:
            'Code of an error, a warning or a finding of the linter; a check of berth doctor, as NAME or check:NAME; a file of the configuration; a key, as KEY or FILE:KEY. Without it, all codes are listed',
        })
        .option('output', outputOption)
        .example('berth explain token-expired', 'What the code of a log line means')
        .example('berth explain portal-hook', 'What a check of berth doctor looks at')
        .example(
          'berth explain ssh.yml',
          'The keys of a file: admission.yml, balancer.yml, berth.yml, clusters.d, profile, ssh.yml',
        )
        .example('berth explain ssh.yml:rules.users', 'What a key does, its values and its default')
        .example('berth explain', 'List all codes')
        .example('berth explain -o json', 'For a runbook or a monitoring system')
        .epilogue(
          'A log line has the code as code=CODE (journalctl -t berth). A command and a session print it in brackets after the message.',
        ),
    handler: async ({ word, output }) => {
      const [{ explained, explainJson, explainText, explanations }, { keysNamed }, keyTexts] =
        await Promise.all([
          import('./explain-text.ts'),
          import('../kit/configuration-keys.ts'),
          import('./explain-key-text.ts'),
        ]);
      const { keysJson, keysText, keyNames } = keyTexts;
      const keys = word === undefined ? [] : keysNamed(word);
      if (keys.length === 0) {
        const found = explanations(word, keyNames());
        terminal.stdout.write(output === 'json' ? explainJson(found) : explainText(found));
        return;
      }
      const checks = explained(word);
      terminal.stdout.write(
        output === 'json'
          ? keysJson(keys, checks)
          : [keysText(keys), ...(checks.length === 0 ? [] : [explainText(checks)])].join('\n'),
      );
    },
  };
}
