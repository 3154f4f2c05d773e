import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { type PortalToken, portalTokens } from '../../init/present-portal.ts';
import type { PortalAnswers } from '../../init/portal-setup.ts';
import type { PresentPortal } from '../../init/present-portal.ts';
import { flowOptions, type FlowArguments } from './init-options.ts';
import { oscText } from './osc-text.ts';
import { type Asker, asker, type Question } from '../kit/questions.ts';
import { configFileOf, siteOptions, type SiteArguments } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface PortalArguments extends FlowArguments, SiteArguments {
  readonly 'subject-prefix'?: string | undefined;
  readonly audience?: string | undefined;
  readonly 'ca-file'?: string | undefined;
  readonly token?: string | undefined;
  readonly 'exchange-scope'?: string | undefined;
  readonly 'keep-hook': boolean;
  readonly 'from-osc'?: string | undefined;
  readonly 'osc-scripts'?: string | undefined;
  readonly 'ood-directory': string;
}

/** `berth init portal`: Kubernetes credentials for the users of Open OnDemand. */
export function initPortalCommand(terminal: Terminal): CommandModule<object, PortalArguments> {
  return {
    command: 'portal',
    describe: 'Set up Kubernetes credentials for the users of this Open OnDemand portal',
    builder: options,
    handler: (args) => run(args, terminal),
  };
}

function options(yargs: Argv): Argv<PortalArguments> {
  const text = { type: 'string', requiresArg: true } as const;
  return siteOptions(flowOptions(yargs))
    .option('subject-prefix', {
      ...text,
      describe: 'What the API server puts before user names (--oidc-username-prefix)',
    })
    .option('audience', {
      ...text,
      describe:
        "Audience that the API server requires (--oidc-client-id), if not the portal's client",
    })
    .option('ca-file', {
      ...text,
      describe: "PEM file of the identity provider's CA, if this host does not trust it",
    })
    .option('token', {
      ...text,
      choices: portalTokens,
      describe:
        "What kubectl gets: exchange (a token exchanged for the audience), or the portal's access or id token, if it has the audience already [default: exchange for another audience, otherwise id]",
    })
    .option('exchange-scope', {
      ...text,
      describe: 'Scope of the exchange: with Keycloak the client scope that adds the audience',
    })
    .option('keep-hook', {
      type: 'boolean',
      default: false,
      describe: "Leave pun_pre_hook_root_cmd: a script of the site's own runs Berth's programs",
    })
    .option('from-osc', {
      ...text,
      describe: "OSC's hook.env, or the directory with it and the scripts: say what each becomes",
    })
    .option('osc-scripts', {
      ...text,
      describe: "Directory of OSC's scripts and manifests, if they are elsewhere",
    })
    .option('ood-directory', {
      ...text,
      default: '/etc/ood/config',
      describe: "Directory of OnDemand's hook.env, clusters.d and ood_portal.yml",
    })
    .example('berth init portal', 'Ask, show all changes, and ask again before they are made')
    .example(
      'berth init portal --from-osc /etc/ood/config/hook.env --dry-run --yes',
      "Say what becomes of OSC's hooks, and change nothing",
    )
    .example(
      'berth init portal --subject-prefix oidc: --audience kubernetes --yes',
      'Ask only for what has no default',
    )
    .epilogue(
      'Needs root. A file that is changed is kept beside it, and the last lines say how to go back. Apache is not restarted. It can be run again. Lists get what they lack; what would take the place of something of yours is asked about, and refused with --yes.',
    );
}

async function run(args: PortalArguments, terminal: Terminal): Promise<void> {
  const [{ portalSetup }, { presentPortal }, { oscReport }, { runSetup }] = await Promise.all([
    import('../../init/portal-setup.ts'),
    import('../../init/present-portal.ts'),
    import('../../init/osc-report.ts'),
    import('./run-setup.ts'),
  ]);
  const asking = asker('berth init portal', args, terminal);
  const { audience, 'subject-prefix': subjectPrefix, 'ca-file': caFile } = args;
  const config = configFileOf(args);
  const oodDirectory = resolve(args['ood-directory']);
  const { 'from-osc': fromOsc, 'osc-scripts': scripts } = args;
  const osc =
    fromOsc === undefined
      ? undefined
      : oscReport(resolve(fromOsc), scripts === undefined ? undefined : resolve(scripts));
  if (osc !== undefined && args.output === 'text') terminal.stdout.write(oscText(osc));
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
    ...{ audience, 'subject-prefix': subjectPrefix },
    'ca-file': caFile === undefined ? undefined : resolve(caFile),
  });
  const tokens = await tokenAnswers(args, asking, {
    ...present,
    audience: answers.get('audience') ?? '',
  });
  const hookEnv = osc?.hookEnv ?? present.hookEnv;
  const setup = portalSetup({
    ...{ config, oodDirectory },
    hookEnv,
    subjectPrefix: answers.get('subject-prefix') ?? '',
    audience: answers.get('audience') ?? '',
    caFile: answers.get('ca-file') ?? '',
    ...tokens,
    keepHook: args['keep-hook'],
    hookKubeconfig: present.hookKubeconfig,
  });
  await runSetup(setup, args, asking, terminal, osc === undefined ? {} : { osc });
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
