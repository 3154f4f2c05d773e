import { command } from '../kit/command.ts';

/** `berth explain`: what an error code means, from docs/errors.md, and what a key of the configuration does. */
export const explainCommand = command({
  command: 'explain [word]',
  describe: 'Explain an error code, a linter finding, a doctor check or a configuration key',
  positionals: {
    word: {
      type: 'string',
      kind: 'explained',
      describe:
        'Code of an error, a warning or a finding of the linter; a check of berth doctor, as NAME or check:NAME; a file of the configuration; a key, as KEY or FILE:KEY. Without it, all codes are listed',
    },
  },
  examples: [
    ['berth explain token-expired', 'What the code of a log line means'],
    ['berth explain portal-hook', 'What a check of berth doctor looks at'],
    [
      'berth explain ssh.yml',
      'The keys of a file: admission.yml, balancer.yml, berth.yml, clusters.d, profile, ssh.yml',
    ],
    ['berth explain ssh.yml:rules.users', 'What a key does, its values and its default'],
    ['berth explain', 'List all codes'],
  ],
  epilogue:
    'A log line has the code as code=CODE (journalctl -t berth). A command and a session print it in brackets after the message.',
  run: async ({ word }, { stdout }) => {
    const texts = await import('./explain-text.ts');
    const { keysNamed } = await import('../kit/configuration-keys.ts');
    const { explained, explainText, explanations, keysText } = texts;
    const keys = word === undefined ? [] : keysNamed(word);
    if (keys.length === 0) {
      stdout.write(explainText(explanations(word, texts.keyNames())));
      return;
    }
    const checks = explained(word);
    const all = [keysText(keys), ...(checks.length === 0 ? [] : [explainText(checks)])];
    stdout.write(all.join('\n'));
  },
});
