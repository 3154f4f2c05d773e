import '../../../scripts/check-node.ts';
import { printError, step } from './progress.ts';
import { stopSite } from './start.ts';

/** `npm run site:down`: stops the test site. */
try {
  await step('stopping the site', stopSite);
} catch (error) {
  printError(error);
  process.exitCode = 1;
}
