import { namedProfile } from '../../config/schema/profile/named-profile.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import type { ArgumentsOf } from '../../cli/kit/options.ts';
import { configDirOption, loadSsh } from '../../cli/kit/site-options.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';

/** The profile that a rendering is of. */
const profilePositional = {
  profile: {
    ...({ type: 'string', kind: 'profile', demandOption: true } as const),
    describe: 'Name of the profile',
  },
};

/** `berth render sbatch`: a profile as a job script. */
export const renderSbatchCommand = command({
  ...companionCommands.renderSbatch,
  positionals: profilePositional,
  options: configDirOption,
  examples: [
    ['berth render sbatch gpu > job.sh', 'Write a job script; edit its last lines'],
    ['sbatch job.sh python3 train.py', 'Run a command in the container'],
  ],
  epilogue: 'The paths of podman and of the shared images are those of ssh.yml on this host.',
  run: render,
});

/** @throws {BerthError} those of `loadSshSettings` and `namedProfile` */
async function render(
  args: ArgumentsOf<typeof profilePositional & typeof configDirOption>,
  terminal: Terminal,
): Promise<void> {
  const settings = await loadSsh(args);
  const { sbatchScript } = await import('./rules/sbatch.ts');
  terminal.stdout.write(sbatchScript(namedProfile(settings, args.profile), settings));
}
