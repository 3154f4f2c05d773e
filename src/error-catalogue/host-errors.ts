import type { CatalogueEntries } from './entry.ts';

/** Errors of the command line and of the host's files. */
export const hostErrors = {
  usage: {
    exit: 'usage',
    what: 'The program was called with arguments that it does not accept. Nothing was done.',
    why: 'An option is misspelled or missing, two options exclude each other, or a script calls the program in an outdated way.',
    next: 'Read the message: it names the argument. `berth COMMAND --help` lists what each command accepts.',
  },
} as const satisfies CatalogueEntries;
