import { namedProfile } from '../../config/schema/profile/named-profile.ts';
import { appKinds } from './rules/ondemand-app.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import { type ArgumentsOf, choice, text } from '../../cli/kit/options.ts';
import { outputDirectory } from '../../cli/kit/output-path.ts';
import { configDirOption, loadSsh } from '../../cli/kit/site-options.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';
import { warnOfMissingImages } from './warn-of-missing-images.ts';
import { writeFiles } from '../../cli/render/write-files.ts';

const positionals = {
  profile: {
    ...({ type: 'string', kind: 'profile', demandOption: true } as const),
    describe: 'Name of the profile',
  },
  directory: {
    ...({ type: 'string', kind: 'directory', demandOption: true } as const),
    describe: 'Where to write the app; files of an earlier run are brought up to date',
  },
};

const options = {
  ...configDirOption,
  kind: choice(appKinds, 'What the app starts in the image', { default: 'jupyter' }),
  command: text('COMMAND', 'With --kind web: the command of the server, for `sh -c`'),
  cluster: text('CLUSTER', "OnDemand's name of the cluster", { demandOption: true }),
  backend: choice(['pod', 'slurm'], 'What sessions of the app run in: pods, or jobs of Slurm', {
    default: 'pod',
  }),
};

/** `berth render ondemand-app`: a profile as an interactive app of Open OnDemand. */
export const renderOndemandAppCommand = command({
  ...companionCommands.renderOndemandApp,
  positionals,
  options,
  examples: [
    [
      'berth render ondemand-app notebook /var/www/ood/apps/sys/berth-jupyter --cluster prod',
      'Write an app whose sessions are pods',
    ],
    [
      "berth render ondemand-app login app --kind web --command 'exec my-server' --cluster hpc --backend slurm",
      'Write an app that runs a server of your own in jobs of Slurm',
    ],
  ],
  epilogue: 'No cluster is contacted. Edited files are not overwritten.',
  run: render,
});

/** @throws {BerthError} `usage`, those of `loadSshSettings`, `namedProfile` and `writeDirectory` */
async function render(
  args: ArgumentsOf<typeof options & typeof positionals>,
  terminal: Terminal,
): Promise<void> {
  const { kind, command: server, cluster } = args;
  const slurm = args.backend === 'slurm';
  const usage = (problem: string, hint: string) => new BerthError('usage', problem, { hint });
  if ((kind === 'web') !== (server !== undefined))
    throw usage(
      kind === 'web' ? '--command is missing' : `--command cannot be used with --kind ${kind}`,
      '--kind web needs the command of the server; the others have their own.',
    );
  if (!/^[A-Za-z0-9][\w.-]*$/.test(cluster))
    throw usage(
      `--cluster ${cluster}: must be the name of a cluster`,
      'Give the name of its file in clusters.d without `.yml`.',
    );
  const directory = outputDirectory('the target', args.directory);
  const settings = await loadSsh(args);
  const profile = namedProfile(settings, args.profile);
  if (slurm && profile.network !== 'host')
    throw usage(
      `the profile ${profile.name} has network: ${profile.network}, and the portal could not reach the server`,
      'Use a profile with `network: host`.',
    );
  const { keysWithoutEffect, ondemandApp } = await import('./rules/ondemand-app.ts');
  const app = { profile, kind, cluster, command: server, slurm: slurm ? settings : undefined };
  await writeFiles(terminal, directory, ondemandApp(app));
  if (!slurm) warnOfMissingImages([profile], terminal);
  const left = slurm ? [] : keysWithoutEffect(profile);
  if (left.length > 0)
    terminal.stderr.write(
      `warning: OnDemand's Kubernetes adapter has no field for ${left.join(', ')}: the app ignores them\n`,
    );
}
