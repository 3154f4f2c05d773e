import type { CommandModule } from 'yargs';
import { outputOption } from './report-options.ts';
import type { Terminal } from './terminal.ts';

interface ExplainArguments {
  readonly code?: string | undefined;
  readonly output: string;
}

/** `berth explain`: what an error code means, from `src/error-catalogue`. */
export function explainCommand(terminal: Terminal): CommandModule<object, ExplainArguments> {
  return {
    command: 'explain [code]',
    describe: 'Explain an error code: what happened, why, and what to do',
    builder: (yargs) =>
      yargs
        .positional('code', {
          type: 'string',
          describe: 'Code of an error or a warning; without it, all codes are listed',
        })
        .option('output', outputOption)
        .example('berth explain token-expired', 'What the code of a log line means')
        .example('berth explain', 'List all codes')
        .example('berth explain -o json', 'For a runbook or a monitoring system')
        .epilogue(
          'A log line has the code as code=CODE (journalctl -t berth). A command and a session print it in brackets after the message.',
        ),
    handler: async ({ code, output }) => {
      const { explainJson, explainText, explanations } = await import('./explain-text.ts');
      const found = explanations(code);
      terminal.stdout.write(output === 'json' ? explainJson(found) : explainText(found));
    },
  };
}
