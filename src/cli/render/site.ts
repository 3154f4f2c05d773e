import type { CommandModule } from 'yargs';
import { BerthError } from '../../errors/berth-error.ts';
import { optionalComponents } from '../../site-repository/rules/site-files.ts';
import { outputDirectory } from '../kit/output-path.ts';
import { policiesText } from './policies.ts';
import { listOption } from '../kit/report-options.ts';
import { chosenClusters, loadSite, siteOptions, type SiteArguments } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface SiteRepositoryArguments extends SiteArguments {
  readonly directory: string;
  readonly cluster?: string | undefined;
  readonly components: readonly string[];
  readonly image?: string | undefined;
  readonly 'git-url': string;
  readonly gitops: string;
}

/** `berth render site DIR`. */
export function renderSiteCommand(
  terminal: Terminal,
): CommandModule<object, SiteRepositoryArguments> {
  return {
    command: 'site <directory>',
    describe: 'Write a Git repository with Berth for each cluster',
    builder: (yargs) =>
      siteOptions(yargs)
        .positional('directory', {
          type: 'string',
          demandOption: true,
          describe: 'Where to write it; files of an earlier run are brought up to date',
        })
        .option('cluster', { type: 'string', requiresArg: true, describe: 'Only this cluster' })
        .option('components', {
          ...listOption,
          choices: optionalComponents,
          default: [] as string[],
          describe: 'Optional components',
        })
        .option('image', {
          type: 'string',
          requiresArg: true,
          describe: 'Image of the CronJobs, with a tag or a digest',
        })
        .option('git-url', {
          type: 'string',
          requiresArg: true,
          default: 'https://git.example.org/hpc/clusters.git',
          describe: 'Where the clusters will fetch the repository',
        })
        .option('gitops', {
          requiresArg: true,
          choices: ['flux', 'argo-cd'],
          default: 'flux',
          describe: 'What runs on the clusters',
        })
        .example(
          'berth render site clusters --components reaper --image registry.example.org/hpc/berth:0.1.0',
          'Write a Git repository for Flux',
        )
        .epilogue('No cluster is contacted.'),
    handler: (args) => renderSite(args, terminal),
  };
}

/** @throws {BerthError} `usage`, `cluster-unknown`, `no-kubernetes-cluster`, those of `writeSite` */
async function renderSite(args: SiteRepositoryArguments, terminal: Terminal): Promise<void> {
  const { image, components } = args;
  if (image !== undefined && !/^[a-z0-9.:/_-]+(:[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image))
    throw new BerthError(`--image ${image} has no tag`, {
      code: 'usage',
      hint: 'Give the name with a tag or a digest, as NAME:TAG or NAME@sha256:….',
    });
  const directory = outputDirectory('the target', args.directory);
  const loaded = await loadSite(args);
  const { clusters, broken } = chosenClusters(loaded, args.cluster);
  const [fault] = broken;
  if (fault !== undefined) throw fault.error;
  if (clusters.length === 0)
    throw new BerthError('no cluster is configured', { code: 'no-kubernetes-cluster' });
  const { siteFiles } = await import('../../site-repository/rules/site-files.ts');
  const { writeSite } = await import('../../site-repository/write-site.ts');
  const files = siteFiles({
    clusters,
    components,
    policies: components.includes('admission') ? await policiesText(args) : '',
    image,
    gitUrl: args['git-url'],
    gitops: args.gitops === 'argo-cd' ? 'argo-cd' : 'flux',
  });
  const changes = await writeSite(directory, files);
  const lines = changes
    .filter(({ change }) => change !== 'unchanged')
    .map(({ path, change }) => `${path}: ${change === 'kept' ? 'kept, it is yours' : change}\n`);
  terminal.stdout.write(lines.length === 0 ? 'nothing to change\n' : lines.join(''));
  terminal.stdout.write(`\nnext: read ${directory}/README.md, then \`git add\` and commit\n`);
}
