import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { OscReport } from '../../setup/init/osc-report.ts';
import type { PortalAnswers } from '../../setup/init/portal-setup.ts';
import type { PortalToken, PresentPortal } from '../../setup/init/present-portal.ts';
import { escapedForTerminal } from '../../log.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, choice, flag, text } from '../kit/options.ts';
import { type Asker, type Question, asker, flowOptions } from '../kit/questions.ts';
import { configFileOf, siteOptions } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

const portalTokens = ['exchange', 'access', 'id'] as const satisfies readonly PortalToken[];

const options = {
  ...flowOptions,
  ...siteOptions,
  'subject-prefix': text(
    'PREFIX',
    'What the API server puts before user names (--oidc-username-prefix)',
  ),
  audience: text(
    'AUDIENCE',
    "Audience that the API server requires (--oidc-client-id), if not the portal's client",
  ),
  'ca-file': text('file', "PEM file of the identity provider's CA, if this host does not trust it"),
  token: choice(
    portalTokens,
    "What kubectl gets: exchange (a token exchanged for the audience), or the portal's access or id token, if it has the audience already [default: exchange for another audience, otherwise id]",
  ),
  'exchange-scope': text(
    'SCOPE',
    'Scope of the exchange: with Keycloak the client scope that adds the audience',
  ),
  'keep-hook': flag(
    "Leave pun_pre_hook_root_cmd: a script of the site's own runs Berth's programs",
  ),
  'from-osc': text(
    'file',
    "OSC's hook.env, or the directory with it and the scripts: say what each becomes",
  ),
  'osc-scripts': text(
    'directory',
    "Directory of OSC's scripts and manifests, if they are elsewhere",
  ),
  'ood-directory': text(
    'directory',
    "Directory of OnDemand's hook.env, clusters.d and ood_portal.yml",
    { default: '/etc/ood/config' },
  ),
};

type PortalArguments = ArgumentsOf<typeof options>;

/** `berth init portal`: Kubernetes credentials for the users of Open OnDemand. */
export const initPortalCommand = command({
  command: 'portal',
  describe: 'Set up Kubernetes credentials for the users of this Open OnDemand portal',
  options,
  needs: { '--osc-scripts': '--from-osc' },
  without: { '--exchange-scope': ['--token access', '--token id'] },
  examples: [
    ['berth init portal', 'Ask, show all changes, and ask again before they are made'],
    [
      'berth init portal --from-osc /etc/ood/config/hook.env --dry-run --yes',
      "Say what becomes of OSC's hooks, and change nothing",
    ],
    [
      'berth init portal --subject-prefix oidc: --audience kubernetes --yes',
      'Ask only for what has no default',
    ],
  ],
  epilogue:
    'Needs root. A file that is changed is kept beside it, and the last lines say how to undo it. Apache is not restarted. It can be run again. Lists get what they lack; what would take the place of something of yours is asked about, and refused with --yes.',
  run,
});

async function run(args: PortalArguments, terminal: Terminal): Promise<void> {
  const { portalSetup } = await import('../../setup/init/portal-setup.ts');
  const { presentPortal } = await import('../../setup/init/present-portal.ts');
  const { oscReport } = await import('../../setup/init/osc-report.ts');
  const { runSetup } = await import('./run-setup.ts');
  const asking = asker('berth init portal', args, terminal);
  const { audience, 'subject-prefix': subjectPrefix, 'ca-file': caFile } = args;
  const config = configFileOf(args);
  const oodDirectory = resolve(args['ood-directory']);
  const { 'from-osc': fromOsc, 'osc-scripts': scripts } = args;
  const osc =
    fromOsc === undefined
      ? undefined
      : oscReport(resolve(fromOsc), scripts === undefined ? undefined : resolve(scripts));
  if (osc !== undefined) terminal.stdout.write(oscText(osc));
  const present = presentPortal(config);
  const questions: Question[] = [
    {
      option: 'subject-prefix',
      text: 'What the API server puts before user names (--oidc-username-prefix)',
      fallback: present.subjectPrefix,
    },
    {
      option: 'audience',
      text: "Audience that the API server requires (--oidc-client-id), if not the portal's client",
      fallback: present.audience,
    },
    {
      option: 'ca-file',
      text: "File with the identity provider's CA, if this host does not trust it",
      fallback: present.caFile,
      problem: (file) => {
        if (file === '') return undefined;
        if (!file.startsWith('/')) return 'must be an absolute path';
        return existsSync(file) ? undefined : 'does not exist';
      },
    },
  ];
  const answers = await asking.answers(questions, {
    audience,
    'subject-prefix': subjectPrefix,
    'ca-file': caFile === undefined ? undefined : resolve(caFile),
  });
  const tokens = await tokenAnswers(args, asking, {
    ...present,
    audience: answers.get('audience') ?? '',
  });
  const hookEnv = osc?.hookEnv ?? present.hookEnv;
  const setup = portalSetup({
    config,
    oodDirectory,
    hookEnv,
    subjectPrefix: answers.get('subject-prefix') ?? '',
    audience: answers.get('audience') ?? '',
    caFile: answers.get('ca-file') ?? '',
    ...tokens,
    keepHook: args['keep-hook'],
    hookKubeconfig: present.hookKubeconfig,
  });
  await runSetup(setup, args, asking, terminal);
}

/** Asked after the audience, on which it depends. @returns an empty token for what berth.yml has, or means without it */
async function tokenAnswers(
  { token: given, 'exchange-scope': scope }: PortalArguments,
  asking: Asker,
  present: Pick<PresentPortal, 'audience' | 'token' | 'exchangeScope'>,
): Promise<Pick<PortalAnswers, 'token' | 'exchangeScope'>> {
  const byDefault = present.audience === '' ? 'id' : 'exchange';
  const fallback = present.token === '' ? byDefault : present.token;
  const question: Question = {
    option: 'token',
    text: "What kubectl gets: exchange (a token exchanged for the audience), or the portal's access or id token, if it has the audience already",
    fallback,
    problem: (answer) =>
      isPortalToken(answer) ? undefined : `must be one of ${portalTokens.join(', ')}`,
  };
  const answer = (await asking.answers([question], { token: given })).get('token') ?? '';
  const scopeQuestion: Question = {
    option: 'exchange-scope',
    text: 'Scope of the exchange (Keycloak: the client scope that adds the audience)',
    fallback: present.exchangeScope,
    asked: answer === 'exchange',
  };
  const scopes = await asking.answers([scopeQuestion], { 'exchange-scope': scope });
  return {
    token: answer !== fallback && isPortalToken(answer) ? answer : '',
    exchangeScope: scopes.get('exchange-scope') ?? '',
  };
}

function isPortalToken(answer: string): answer is PortalToken {
  return portalTokens.some((one) => one === answer);
}

/** What becomes of OSC's hooks, key by key. */
function oscText({ hookEnv, keys, directory, files, warnings }: OscReport): string {
  const lines = [
    `${hookEnv}, which Berth reads as it is:`,
    ...keys.flatMap(({ key, value, becomes }) => [`  ${key}=${value}`, `      ${becomes}`]),
    ...warnings.map(
      ({ message, file, line }) =>
        `  warning: ${file}${line === undefined ? '' : `:${line}`}: ${message}`,
    ),
    ...(files.length === 0
      ? [
          directory === undefined
            ? 'scripts and manifests: give their directory with --osc-scripts'
            : `no scripts and manifests in ${directory}: if they are elsewhere, give --osc-scripts`,
        ]
      : [
          'scripts and manifests, which are not read: what you have added to them is not taken over, so compare them with those of OSC',
        ]),
    ...files.map(({ key, becomes }) => `  ${key}: ${becomes}`),
  ];
  const without = [...keys, ...files].filter(({ counterpart }) => !counterpart);
  if (without.length > 0)
    lines.push(`without a counterpart: ${without.map(({ key }) => key).join(', ')}`);
  return `${lines.map((line) => escapedForTerminal(line)).join('\n')}\n\n`;
}
