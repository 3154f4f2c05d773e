import { families, type Family } from '../../src/diagnose/metrics/rules/families.ts';
import type { GeneratedPage } from './page.ts';

const head = `# Metrics

What \`berth metrics\` writes, for \`berth-metrics.timer\` and node_exporter ([how](monitoring.md)). Counters and histograms begin at 0 when the
host starts, and are counted from the first run of \`berth metrics\`. The reapers and the syncs write files of their own.

| metric | type | what | labels |
| --- | --- | --- | --- |
`;

const foot = `
## How it is counted

Root's programs append each event to \`/run/berth/metrics/events\`, which is in memory and which only root can open; \`berth metrics\` counts
the new ones, and begins a new file when the old one is large. A login waits for two appends of some microseconds. At a
\`kill -9\` of anything, each event that was appended is counted once; a login at the portal that was
killed is only in \`berth_portal_logins_started_total\`, and \`berth reap\` closes the SSH connections that PAM did not. The
file has at most 16 MiB: then events are not kept, and \`berth_metrics_spool_full\` is 1. A program that hangs for ten minutes or longer between opening the file and
appending may lose its event.

What only a session of the user knows (its profile, how long it took to start, why it did not) the user's login notes in
the user's runtime directory, and root reads it when the connection closes: names and codes that root knows, at most 100
sessions of a connection, and none of one with thousands. Users can falsify these numbers of sessions, which all users share, and nothing else.
\`kube-credential\` without a broker runs as the user and is not counted.
`;

/** docs/metrics.md: what `berth metrics` writes. */
export const metricsPage: GeneratedPage = {
  path: 'docs/metrics.md',
  markdown: () =>
    head +
    Object.entries<Family>(families)
      .map(([name, { type, help, labels }]) => {
        const list = Object.entries(labels).map(([label, what]) => `\`${label}\`: ${what}`);
        return `| \`${name}\` | ${type} | ${help} | ${list.join('; ')} |\n`;
      })
      .join('') +
    foot,
};
