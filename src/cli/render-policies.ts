import { readFile } from 'node:fs/promises';
import type { CommandModule } from 'yargs';
import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { isErrno } from '../errors.ts';
import type { Terminal } from './terminal.ts';

const parametersFile = '/etc/berth/admission.yml';

interface PoliciesArguments {
  readonly engine: string;
  readonly parameters?: string | undefined;
  readonly output: string;
}

/** `berth render policies`: the admission policies with what the site allows written into them. */
export function renderPoliciesCommand(
  terminal: Terminal,
): CommandModule<object, PoliciesArguments> {
  return {
    command: 'policies',
    describe: 'Print the admission policies that hold pods to their users',
    builder: (yargs) =>
      yargs
        .option('engine', {
          choices: ['kubernetes', 'kyverno'],
          default: 'kubernetes',
          describe: 'Who enforces them',
        })
        .option('parameters', {
          type: 'string',
          requiresArg: true,
          describe: `What the site allows [default: ${parametersFile}, where it is there]`,
        })
        .option('output', { alias: 'o', choices: ['yaml', 'json'], default: 'yaml' })
        .example('berth render policies | kubectl apply -f -', 'Install or change them')
        .example('berth render policies --engine kyverno', 'For a site that has Kyverno'),
    handler: (args) => render(args, terminal),
  };
}

async function render(args: PoliciesArguments, terminal: Terminal): Promise<void> {
  const parameters = await readParameters(args.parameters);
  const { siteAdmission } = await import('../desired/admission/admission-settings.ts');
  const { admissionManifests } = await import('../desired/admission/render-admission.ts');
  const { renderJson, renderManifests } = await import('./render-objects.ts');
  const engine = args.engine === 'kyverno' ? 'kyverno' : 'kubernetes';
  const manifests = admissionManifests(engine, siteAdmission(parameters));
  terminal.stdout.write(
    args.output === 'json' ? renderJson(manifests) : renderManifests(manifests),
  );
}

/** The site's file; what is built in where nobody named one and there is none. */
async function readParameters(named: string | undefined): Promise<AdmissionParameters> {
  const { parseAdmissionParameters } = await import('../config/admission-parameters.ts');
  const { readYaml } = await import('../config/yaml-document.ts');
  const file = named ?? parametersFile;
  try {
    const { value, place } = readYaml(await readFile(file, 'utf8'), file, 'core');
    return parseAdmissionParameters(value, file, place);
  } catch (thrown) {
    if (named === undefined && isErrno(thrown, 'ENOENT')) return parseAdmissionParameters({}, file);
    throw thrown;
  }
}
