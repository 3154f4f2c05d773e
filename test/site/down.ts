import { step } from './progress.ts';
import { stopSite } from './start.ts';

/** `npm run site:down`: ends what `site:up` started. */
await step('the site to end', stopSite);
