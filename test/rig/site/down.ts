import '../../../scripts/check-node.ts';
import { complain, step } from './progress.ts';
import { stopSite } from './start.ts';

/** `npm run site:down`: ends what `site:up` started. */
try {
  await step('the site to end', stopSite);
} catch (error) {
  complain(error);
  process.exitCode = 1;
}
