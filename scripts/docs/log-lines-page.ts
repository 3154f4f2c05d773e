import { logEvents } from '../../src/system/text/log-events.ts';
import type { GeneratedPage } from './page.ts';

const head = `# Lines of the log

Every line of Berth's log has \`level\` (\`info\`, \`warning\` or \`error\`) and \`msg\`, and then one of these forms ([where they are](logs.md)):

- With \`code\`: an error or a warning, often with what to do in \`hint\`. [Errors](errors.md) explains each code. The session is in
  \`session\`, the account in \`user\` or \`uid\`, and \`cluster\`, \`file\`, \`profile\` and others say where.
- Without: one of the events below, with no other fields than its own. A field that does not apply is left out. "Not in
  syslog": only on the hook's standard error, which OnDemand drops if the hook succeeds.

All are there since version 0.1.0. This page is generated from \`src/system/text/log-events.ts\`, against which the compiler checks each line.

| \`msg\` | when | fields |
| --- | --- | --- |
`;

/** docs/log-lines.md: what Berth logs, and the fields of each line. */
export const logLinesPage: GeneratedPage = {
  path: 'docs/log-lines.md',
  markdown: () =>
    head +
    Object.entries(logEvents)
      .map(([event, { when, fields }]) => {
        const list = Object.entries(fields).map(([name, what]) => `\`${name}\`: ${what}`);
        return `| \`${event}\` | ${when} | ${list.join('; ')} |\n`;
      })
      .join(''),
};
