import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
import type { KnownSshd } from './known-sshds.ts';
import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import type { SshAddress } from './rules/site.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import { type ArgumentsOf, text } from '../../cli/kit/options.ts';
import { optionalOutputFile, outputDirectory } from '../../cli/kit/output-path.ts';
import { configDirOption, loadSsh, overlayOf } from '../../cli/kit/site-options.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';
import { timestamp } from '../../cli/kit/text.ts';
import { writeFiles } from '../../cli/render/write-files.ts';

const positionals = {
  directory: {
    ...({ type: 'string', kind: 'directory', demandOption: true } as const),
    describe: 'Where to write the pages; those of an earlier run are brought up to date',
  },
};

const options = {
  ...configDirOption,
  host: text(
    'HOST',
    'What users type [default: `hostname` of balancer.yml, otherwise the name of this host]',
  ),
  title: text('TITLE', 'Title of the pages [default: the host]'),
  news: text('directory', 'Folder of news: files 2026-11-26-TITLE.md', {
    default: '/etc/berth/news',
  }),
  metrics: text('directory', "Folder of node_exporter's textfile collector, for the status", {
    default: '/var/lib/prometheus/node-exporter',
  }),
  motd: text(
    'file',
    'File for the news as message of the day; --motd=-FILE: only if its directory is there',
  ),
  'config-map': text('file', 'File for the pages as a ConfigMap, for the component `pages`'),
};

/** `berth render pages DIR`: the site's pages for users. */
export const renderPagesCommand = command({
  ...companionCommands.renderPages,
  positionals,
  options,
  examples: [
    [
      'berth render pages /var/lib/berth-pages --motd /etc/motd.d/berth',
      'Write the pages, and the news as message of the day',
    ],
    [
      'berth render pages pages --host login.example.org --config-map pages.yaml',
      'Write the pages and their ConfigMap',
    ],
  ],
  epilogue: 'No cluster is contacted. The pages name no user.',
  run: render,
});

/**
 * @throws {BerthError} `usage`, `pages-too-large`, those of `loadSshSettings`, `loadBalancerSettings`, `knownSshds`,
 *   `readNews` and `writeDirectory`
 */
async function render(
  args: ArgumentsOf<typeof options & typeof positionals>,
  terminal: Terminal,
): Promise<void> {
  if (args.host !== undefined && !/^[A-Za-z0-9][A-Za-z0-9.:_-]*$/.test(args.host))
    throw usageError(
      'berth render pages',
      `--host ${args.host}: not a name or an address of a host`,
    );
  const directory = outputDirectory('the target', args.directory);
  const motd = optionalOutputFile('--motd', args.motd);
  const configMap = optionalOutputFile('--config-map', args['config-map']);
  const settings = await loadSsh(args);
  const balancer = await balancerOf(args);
  const { knownSshds } = await import('./known-sshds.ts');
  const sshds = await knownSshds(terminal.now());
  const { readMetrics, readNews } = await import('./read-inputs.ts');
  const { statusRows } = await import('./rules/status.ts');
  const host = args.host ?? balancer?.hostname ?? hostname();
  const folder = (await overlayOf(args))?.resolve(args.news) ?? args.news;
  const { news, others } = readNews(folder);
  if (others.length > 0)
    terminal.stderr.write(
      `warning: no news: ${escapedForTerminal(others.join(', '))} in ${folder}; a name is 2026-11-26.md or 2026-11-26-WORDS.md\n`,
    );
  const seconds = Math.floor(terminal.now() / 1000);
  const { sitePages } = await import('./rules/site-pages.ts');
  const files = sitePages({
    host,
    title: args.title ?? host,
    addresses:
      balancer === undefined
        ? hostAddresses(host, sshds)
        : balancerAddresses(host, balancer, sshds),
    hostKeys: distinct(
      sshds.flatMap(({ hostKeys }) => hostKeys),
      (key) => key.fingerprint,
    ),
    authorities: distinct(
      sshds.flatMap(({ authorities }) => authorities),
      (line) => line,
    ),
    settings,
    news,
    status: statusRows(await readMetrics(args.metrics), seconds, minuteText),
  });
  const { pagesConfigMap } = await import('./rules/config-map.ts');
  const { messageOfTheDay } = await import('./rules/news.ts');
  // Too many pages for a ConfigMap are said before anything is written.
  const manifest = configMap === undefined ? '' : pagesConfigMap(files);
  await writeFiles(terminal, directory, files);
  if (motd !== undefined) await writeIfChanged(terminal, motd, messageOfTheDay(news));
  if (configMap !== undefined) await writeIfChanged(terminal, configMap, manifest);
}

/**
 * Writes one file for all to read, and prints its path if its contents have changed.
 *
 * @throws {BerthError} those of `DirectoryTree`
 */
async function writeIfChanged(terminal: Terminal, file: string, contents: string): Promise<void> {
  const { inDirectory } = await import('../../system/directory-tree.ts');
  await inDirectory(dirname(file), async (tree) => {
    const name = basename(file);
    const before = tree.read(name);
    if (before === contents) return;
    await tree.write(name, contents);
    terminal.stdout.write(`${file}: ${before === undefined ? 'new' : 'changed'}\n`);
  });
}

async function balancerOf(
  args: Pick<ArgumentsOf<typeof options>, 'config-dir'>,
): Promise<BalancerSettings | undefined> {
  const installed = '/etc/berth/balancer.yml';
  const file = (await overlayOf(args))?.resolve(installed) ?? installed;
  const { loadBalancerSettings } = await import('../../config/load/load-render-files.ts');
  try {
    return loadBalancerSettings(file);
  } catch (error) {
    if (error instanceof BerthError && error.code === 'config-missing') return undefined;
    throw error;
  }
}

function hostAddresses(host: string, sshds: readonly KnownSshd[]): SshAddress[] {
  return sshds.flatMap(({ name, profile, ports }) =>
    ports.map((port) => ({ name, host, port, sshdPort: port, profile })),
  );
}

/** The profile of a kind is that of the sshd of the same name on this node. */
function balancerAddresses(
  host: string,
  { kinds }: BalancerSettings,
  sshds: readonly KnownSshd[],
): SshAddress[] {
  return kinds.map((kind) => {
    const several = kinds.filter(({ name }) => name === kind.name).length > 1;
    return {
      name: several ? `${kind.name}-${kind.system}` : kind.name,
      host: kind.hostname ?? host,
      port: kind.port,
      sshdPort: kind.nodePort,
      profile: sshds.find(({ name }) => name === kind.name)?.profile,
    };
  });
}

function distinct<T>(all: readonly T[], key: (one: T) => string): T[] {
  return [...new Map(all.map((one) => [key(one), one])).values()];
}

/** `2026-11-26 22:13 UTC`. */
function minuteText(epoch: number): string {
  return timestamp(epoch)
    .replace('T', ' ')
    .replace(/:\d\dZ$/, ' UTC');
}
