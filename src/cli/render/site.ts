import { BerthError } from '../../errors/berth-error.ts';
import { optionalComponents } from '../../site-repository/rules/optional-components.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, choice, list, text } from '../kit/options.ts';
import { outputDirectory } from '../kit/output-path.ts';
import { chosenClusters, loadSite, siteOptions } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';
import { policiesText } from './policies.ts';
import { writeFiles } from './write-files.ts';

const positionals = {
  directory: {
    ...({ type: 'string', kind: 'directory', demandOption: true } as const),
    describe: 'Where to write it; files of an earlier run are brought up to date',
  },
};

const options = {
  ...siteOptions,
  cluster: text('cluster', 'Only this cluster'),
  components: list(undefined, 'Optional components', { choices: optionalComponents, default: [] }),
  image: text('IMAGE', 'Image of the CronJobs, with a tag or a digest'),
  'git-url': text('URL', 'Where the clusters will fetch the repository', {
    default: 'https://git.example.org/hpc/clusters.git',
  }),
  gitops: choice(['flux', 'argo-cd'], 'What runs on the clusters', { default: 'flux' }),
};

/** `berth render site DIR`. */
export const renderSiteCommand = command({
  command: 'site <directory>',
  describe: 'Write a Git repository with Berth for each cluster',
  positionals,
  options,
  examples: [
    [
      'berth render site clusters --components reaper --image registry.example.org/hpc/berth:0.1.0',
      'Write a Git repository for Flux',
    ],
  ],
  epilogue: 'No cluster is contacted.',
  run: renderSite,
});

/** @throws {BerthError} `usage`, `cluster-unknown`, `no-kubernetes-cluster`, those of `writeSite` */
async function renderSite(
  args: ArgumentsOf<typeof options & typeof positionals>,
  terminal: Terminal,
): Promise<void> {
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
    throw new BerthError('no cluster is configured', {
      code: 'no-kubernetes-cluster',
    });
  const { siteFiles } = await import('../../site-repository/rules/site-files.ts');
  const files = siteFiles({
    clusters,
    components,
    policies: components.includes('admission') ? await policiesText(args) : '',
    image,
    gitUrl: args['git-url'],
    gitops: args.gitops,
  });
  await writeFiles(terminal, directory, files);
  terminal.stdout.write(`\nnext: read ${directory}/README.md, then \`git add\` and commit\n`);
}
