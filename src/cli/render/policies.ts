import {
  minorVersion,
  mutatingPolicySince,
  validatingPolicySince,
} from '../../kube/admission/policy-versions.ts';
import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, choice, manifestOutputOption, text } from '../kit/options.ts';
import { type SiteArguments, configDirOption, overlayOf } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

/** On newer clusters the mutating policy sets this field, which OnDemand's adapter does not. */
const strictNote = `berth: pods of OnDemand's adapter do not set supplementalGroupsPolicy: Strict and will be refused; see the section "Before 1.36" of ${installedPath('share/docs/admission.md')}\n`;

/** The author of an image controls its /etc/group. */
const mergeNote =
  'berth: supplemental_groups_policy is Merge and images allows every image, so an image can give its user any group; restrict images in admission.yml\n';

const options = {
  engine: choice(['kubernetes', 'kyverno'], 'Policy engine', { default: 'kubernetes' }),
  kubernetes: text(
    'VERSION',
    `Oldest Kubernetes version among your clusters; before 1.${mutatingPolicySince} the policies set no defaults`,
  ),
  parameters: text(
    'file',
    'Parameters of the site [default: /etc/berth/admission.yml, if it exists]',
  ),
  ...configDirOption,
  output: manifestOutputOption,
};

type PoliciesArguments = ArgumentsOf<typeof options>;

/** `berth render policies`: the admission policies with the parameters of the site. */
export const renderPoliciesCommand = command({
  command: 'policies',
  describe: 'Print the admission policies for pods and services of users',
  options,
  without: { '--kubernetes': ['--engine kyverno'], '--parameters': ['--config-dir'] },
  examples: [
    ['berth render policies | kubectl apply -f -', 'Install or update the policies'],
    ['berth render policies --kubernetes 1.34', 'Print the policies for an older cluster'],
    ['berth render policies --engine kyverno', 'Print the policies for Kyverno'],
  ],
  run: render,
});

async function render(args: PoliciesArguments, terminal: Terminal): Promise<void> {
  const nothingFilledIn = lacksDefaults(args);
  const parameters = await parametersOf(args);
  const { siteAdmission } = await import('../../kube/admission/admission-settings.ts');
  const { admissionManifests } = await import('../../kube/admission/render-admission.ts');
  const { renderJson, renderManifests } = await import('./objects.ts');
  const manifests = admissionManifests(args.engine, siteAdmission(parameters, { nothingFilledIn }));
  if (nothingFilledIn && parameters.supplementalGroupsPolicy === 'Strict')
    terminal.stderr.write(strictNote);
  if (parameters.supplementalGroupsPolicy === 'Merge' && parameters.images.includes('*'))
    terminal.stderr.write(mergeNote);
  terminal.stdout.write(
    args.output === 'json' ? renderJson(manifests) : renderManifests(manifests),
  );
}

/** @throws BerthError `usage` if the version is invalid, or has no ValidatingAdmissionPolicy */
function lacksDefaults({ kubernetes }: PoliciesArguments): boolean {
  if (kubernetes === undefined) return false;
  const minor = minorVersion(kubernetes);
  const problem =
    minor === undefined
      ? `--kubernetes ${kubernetes} is not a version of Kubernetes`
      : minor < validatingPolicySince
        ? `Kubernetes ${kubernetes} has no ValidatingAdmissionPolicy`
        : undefined;
  if (problem !== undefined)
    throw new BerthError('usage', problem, {
      hint: `Give a version such as 1.34 (1.${validatingPolicySince} or later).`,
    });
  return minor !== undefined && minor < mutatingPolicySince;
}

/** @throws as `loadAdmissionParameters` */
async function parametersOf(
  args: Pick<SiteArguments, 'config-dir'> & { readonly parameters?: string | undefined },
): Promise<AdmissionParameters> {
  const { admissionFile, loadAdmissionParameters } =
    await import('../../config/load/load-render-files.ts');
  const { parameters } = args;
  if (parameters !== undefined) return loadAdmissionParameters(parameters, { required: true });
  const overlay = await overlayOf(args);
  return loadAdmissionParameters(overlay?.resolve(admissionFile) ?? admissionFile, {
    required: false,
  });
}
