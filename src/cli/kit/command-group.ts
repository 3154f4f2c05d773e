import type { CommandModule } from 'yargs';

/** A command that only has commands. */
export function commandGroup(
  command: string,
  describe: string,
  // Each has its own arguments.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  commands: readonly CommandModule<object, any>[],
): CommandModule {
  const names = commands.map((one) => String(one.command).split(' ', 1)[0] ?? '');
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(names);
  return {
    ...{ command, describe },
    builder: (yargs) => {
      for (const one of commands) yargs.command(one);
      return yargs.demandCommand(1, 1, `${command} needs a subcommand: ${list}`).strict();
    },
    handler: () => undefined,
  };
}
