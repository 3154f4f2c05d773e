import type { CommandModule } from 'yargs';
import type { ShownSetting } from '../config/load/shown-settings.ts';
import { commandGroup } from './kit/command-group.ts';
import { documentText } from './kit/json-document.ts';
import { outputOption } from './kit/report-options.ts';
import { siteFilesOf, siteOptions, type SiteArguments } from './kit/site-options.ts';
import type { Terminal } from './kit/terminal.ts';
import { textTable } from './kit/text-table.ts';

interface ShowArguments extends SiteArguments {
  readonly effective: boolean;
  readonly output: string;
}

export function configCommand(terminal: Terminal): CommandModule {
  return commandGroup('config', "Print Berth's configuration", [showCommand(terminal)]);
}

function showCommand(terminal: Terminal): CommandModule<object, ShowArguments> {
  return {
    command: 'show',
    describe: 'Print the settings of hook.env, berth.yml and ssh.yml, with file and line',
    builder: (yargs) =>
      siteOptions(yargs)
        .option('effective', {
          type: 'boolean',
          default: false,
          describe: 'Print the settings together with the defaults of keys that no file sets',
        })
        .option('output', outputOption)
        .example('berth config show', 'What is set, and where')
        .example('berth config show --effective', 'With the defaults of keys that no file sets')
        .example('berth config show -o json', 'Print JSON: .settings[].key, .value, .file, .line')
        .epilogue(
          '`clusters.NAME.KEY` takes precedence over `defaults.KEY`, and both over hook.env. Secrets are shown as ***. `berth explain KEY` says what a key does; `berth doctor` checks the values.',
        ),
    handler: async (args) => {
      const [{ settingsFiles, shownSettings }, { defaultsOf }] = await Promise.all([
        import('../config/load/shown-settings.ts'),
        import('./kit/configuration-keys.ts'),
      ]);
      const { configFile, overlay } = await siteFilesOf(args);
      const files = settingsFiles(configFile, overlay);
      const set = shownSettings(files, overlay);
      const settings = args.effective ? [...set, ...defaultsOf(set, files)] : set;
      if (args.output === 'json') terminal.stdout.write(documentText('Settings', { settings }));
      else if (settings.length === 0)
        terminal.stdout.write(
          'no configuration file sets a key; --effective prints the defaults\n',
        );
      else terminal.stdout.write(settingsText(settings));
    },
  };
}

function settingsText(settings: readonly ShownSetting[]): string {
  const rows = settings.map(({ key, value, file, line }) => [
    ...[key, typeof value === 'string' ? value : JSON.stringify(value)],
    line === undefined ? `default (${file})` : `${file}:${line}`,
  ]);
  return textTable(['KEY', 'VALUE', 'FROM'], rows);
}
