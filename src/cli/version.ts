import type { CommandModule } from 'yargs';
import { buildId, sourceCommit } from '../build-id.ts';
import { outputOption } from './kit/report-options.ts';
import type { Terminal } from './kit/terminal.ts';
import { documentText } from './kit/json-document.ts';

/** `berth version`: the program, and what it runs on. */
export function versionCommand(terminal: Terminal): CommandModule<object, { output: string }> {
  return {
    command: 'version',
    describe: 'Print the version of Berth and of its Node',
    builder: (yargs) =>
      yargs
        .option('output', outputOption)
        .example('berth version', 'For a bug report')
        .example('berth version -o json', 'For an inventory')
        .epilogue(
          'Equal sources give equal builds. `-o json` also has the commit. `berth --version` prints the version alone.',
        ),
    handler: ({ output }) => {
      const version = {
        version: terminal.version,
        build: buildId ?? 'sources',
        commit: sourceCommit,
        node: process.versions.node,
        architecture: process.arch,
      };
      terminal.stdout.write(
        output === 'json'
          ? documentText('Version', version)
          : `berth ${version.version}, build ${version.build}, Node ${version.node}, ${version.architecture}\n`,
      );
    },
  };
}
