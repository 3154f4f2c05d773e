import type { ShownSetting } from '../config/load/shown-settings.ts';
import { command, group } from './kit/command.ts';
import { flag } from './kit/options.ts';
import { siteFilesOf, siteOptions } from './kit/site-options.ts';
import { textTable } from './kit/text.ts';

const showCommand = command({
  command: 'show',
  describe: 'Print the settings of hook.env, berth.yml and ssh.yml, with file and line',
  options: {
    ...siteOptions,
    effective: flag('Print the settings together with the defaults of keys that no file sets'),
  },
  examples: [
    ['berth config show', 'What is set, and where'],
    ['berth config show --effective', 'With the defaults of keys that no file sets'],
  ],
  epilogue:
    '`clusters.NAME.KEY` takes precedence over `defaults.KEY`, and both over hook.env. Secrets are shown as ***. `berth explain KEY` says what a key does; `berth doctor` checks the values.',
  run: async (args, { stdout }) => {
    const { settingsFiles, shownSettings } = await import('../config/load/shown-settings.ts');
    const { defaultsOf } = await import('./kit/configuration-keys.ts');
    const { configFile, overlay } = await siteFilesOf(args);
    const files = settingsFiles(configFile, overlay);
    const set = shownSettings(files, overlay);
    const settings = args.effective ? [...set, ...defaultsOf(set, files)] : set;
    if (settings.length === 0)
      stdout.write('no configuration file sets a key; --effective prints the defaults\n');
    else stdout.write(settingsText(settings));
  },
});

export const configCommand = group('config', "Print Berth's configuration", [showCommand]);

function settingsText(settings: readonly ShownSetting[]): string {
  const rows = settings.map(({ key, value, file, line }) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
    line === undefined ? `default (${file})` : `${file}:${line}`,
  ]);
  return textTable(['KEY', 'VALUE', 'FROM'], rows);
}
