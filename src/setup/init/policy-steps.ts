import { probeNamespace } from '../../kube/admission/probe-namespace.ts';
import { siteAdmission } from '../../kube/admission/admission-settings.ts';
import { mutatingPolicySince, minorVersion } from '../../kube/admission/policy-versions.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { admissionFile } from '../../config/load/load-render-files.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { type ProgramOptions, runProgram } from '../../system/run-program.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { type ClusterAnswers, adminKubectl } from './cluster-setup.ts';
import { exampleWith } from './rules/example-text.ts';
import { type SetupStep, whole } from './setup.ts';

const example = sourceText('../../../etc/berth/admission.yml.example', import.meta.url);

/**
 * admission.yml that allows the users' homes, and the admission policies with it, on a cluster that has none. Where the
 * cluster has them, admission.yml may be on another host, and the cluster's lists stay.
 *
 * @param homes of the accounts that may log in, by their names
 * @param env of kubectl, whose kubeconfig may start a plugin
 */
export async function policySteps(
  answers: ClusterAnswers,
  homes: ReadonlyMap<string, string>,
  env: ProgramOptions['env'],
): Promise<SetupStep[]> {
  const admin = adminKubectl(answers);
  const installed = [...admin, 'get', 'namespace', probeNamespace(siteAdmission())];
  const present = readIfPresent(admissionFile);
  const wanted = whole(admissionFile, admissionText(homes));
  const isThere = (await outputOf(installed, env)) !== undefined;
  const writes = present === undefined ? !isThere : present === wanted.text;
  return [
    ...(writes ? [wanted] : []),
    {
      argv: [...admin, 'apply', '-f', '-'],
      input: ['berth', 'render', 'policies', ...(await versionOption(admin, env))],
      unless: installed,
      undo: [[...admin, 'delete', '-k', installedPath('share/etc/kubernetes/admission')]],
    },
  ];
}

function admissionText(homes: ReadonlyMap<string, string>): string {
  const patterns = [...homes].map(([name, home]) =>
    home
      .split('/')
      .map((part) => (part === name ? '{user}' : part))
      .join('/'),
  );
  const paths = patterns.length === 0 ? ['/home/{user}'] : [...new Set(patterns)];
  const lines = paths.map((path) => `  - ${path}`);
  return exampleWith(example, { host_paths: `host_paths:\n${lines.join('\n')}` });
}

/** Older clusters do not serve all kinds of the policies. */
async function versionOption(
  admin: readonly string[],
  env: ProgramOptions['env'],
): Promise<string[]> {
  const text = (await outputOf([...admin, 'get', '--raw', '/version'], env)) ?? '{}';
  const { gitVersion } = mappingOrEmpty(JSON.parse(text));
  const minor = minorVersion(String(gitVersion));
  return minor === undefined || minor >= mutatingPolicySince ? [] : ['--kubernetes', `1.${minor}`];
}

/** @returns undefined if the program did not end with status 0 */
async function outputOf(
  [file = '', ...args]: readonly string[],
  env: ProgramOptions['env'],
): Promise<string | undefined> {
  const { error, stdout } = await runProgram(file, args, { env, cwd: '.', timeoutMs: 20_000 });
  return error === undefined ? stdout : undefined;
}
