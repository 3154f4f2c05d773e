import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { BerthError } from '../errors.ts';
import { optionalComponents } from '../site-repository/rules/optional-components.ts';
import { policiesText } from './render-policies.ts';
import {
  chosenClusters,
  loadSite,
  type SiteArguments,
  type OverlayArguments,
} from './site-options.ts';
import type { Terminal } from './terminal.ts';

export interface SiteRepositoryArguments extends SiteArguments, OverlayArguments {
  readonly cluster?: string | undefined;
  readonly site?: string | undefined;
  readonly components: readonly string[];
  readonly image?: string | undefined;
  readonly 'git-url': string;
  readonly gitops: string;
}

/** Not for `render policies` and `render balancer`. */
const own = { requiresArg: true, global: false } as const;

/** The options of `berth render --site`. */
export function siteRepositoryOptions<T>(yargs: Argv<T>) {
  return yargs
    .option('site', {
      type: 'string',
      ...own,
      conflicts: 'user',
      describe: 'Write a Git repository with Berth for each cluster into this directory',
    })
    .option('components', {
      type: 'string',
      array: true,
      ...own,
      choices: optionalComponents,
      default: [] as string[],
      describe: 'With --site: optional components',
    })
    .option('image', {
      type: 'string',
      ...own,
      describe: 'With --site: image of the CronJobs, with a tag or a digest',
    })
    .option('git-url', {
      type: 'string',
      ...own,
      default: 'https://git.example.org/hpc/clusters.git',
      describe: 'With --site: where the clusters will fetch the repository',
    })
    .option('gitops', {
      ...own,
      choices: ['flux', 'argo-cd'],
      default: 'flux',
      describe: 'With --site: what runs on the clusters',
    });
}

/**
 * `berth render --site DIR`.
 *
 * @throws {BerthError} `usage`, `cluster-unknown`, `no-kubernetes-cluster`, those of `writeSite`
 */
export async function renderSite(
  args: SiteRepositoryArguments & { readonly site: string },
  terminal: Terminal,
): Promise<void> {
  const { image, site, components } = args;
  if (image !== undefined && !/^[a-z0-9.:/_-]+(:[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image))
    throw new BerthError(`--image ${image} has no tag`, {
      code: 'usage',
      hint: 'Give the name with a tag or a digest, as NAME:TAG or NAME@sha256:….',
    });
  const loaded = await loadSite(args);
  const { clusters, broken } = chosenClusters(loaded, args.cluster);
  const [fault] = broken;
  if (fault !== undefined) throw fault.error;
  if (clusters.length === 0)
    throw new BerthError('no cluster is configured', {
      code: 'no-kubernetes-cluster',
      hint: 'Run `berth doctor`: it lists the files that were read.',
    });
  const { siteFiles } = await import('../site-repository/rules/site-files.ts');
  const { writeSite } = await import('../site-repository/write-site.ts');
  const files = siteFiles({
    clusters,
    components,
    policies: components.includes('admission') ? await policiesText(args) : '',
    ...(image === undefined ? {} : { image }),
    gitUrl: args['git-url'],
    gitops: args.gitops === 'argo-cd' ? 'argo-cd' : 'flux',
  });
  const directory = resolve(site);
  const changes = await writeSite(directory, files);
  const lines = changes
    .filter(({ change }) => change !== 'unchanged')
    .map(({ path, change }) => `${path}: ${change === 'kept' ? 'kept, it is yours' : change}\n`);
  terminal.stdout.write(lines.length === 0 ? 'nothing to change\n' : lines.join(''));
  terminal.stdout.write(`\nnext: read ${directory}/README.md, then \`git add\` and commit\n`);
}
