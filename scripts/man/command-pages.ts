import { exitStatusTexts } from '../../src/system/errors/catalogue.ts';
import { type CommandNode, type OptionNode, shownOptions } from '../../src/cli/kit/command.ts';
import { placeholderOf } from '../../src/cli/kit/options.ts';
import { entry, escaped, example, page, text } from './roff.ts';

export interface ManPage {
  /** Such as `berth-plan.8`. */
  readonly file: string;
  readonly roff: string;
}

export interface Release {
  readonly version: string;
  /** `YYYY-MM-DD` */
  readonly date: string;
}

/**
 * berth(8), and berth-COMMAND(8) for each command, with its own commands as sections.
 *
 * @param others the manual's other pages, which berth(8) names
 */
export function commandPages(
  root: CommandNode,
  release: Release,
  others: readonly ManPage[],
): ManPage[] {
  const commands = root.commands.map((node) => commandPage(node, release));
  const names = root.commands.map(({ name }) => `berth-${name}`);
  const overview = page({ name: 'berth', section: 8, ...release }, [
    ['NAME', ["berth \\- manage users' sessions, credentials and namespaces"]],
    ['SYNOPSIS', ['.B berth', '.I COMMAND', '[\\fIOPTIONS\\fR]']],
    ['DESCRIPTION', [text((root.epilogue ?? '').replace(/ Exit statuses.*/, ''))]],
    [
      'COMMANDS',
      root.commands.flatMap(({ name, describe }) =>
        entry(`.BR berth\\-${escaped(name)} (8)`, text(describe)),
      ),
    ],
    ['OPTIONS', ['These are options of all commands.', ...root.options.flatMap(option)]],
    ['EXAMPLES', examples(root)],
    ['EXIT STATUS', exitStatuses],
    ['FILES', files],
    [
      'SEE ALSO',
      [seeAlso([...names.map((name) => [name, 8] as const), ...others.map(nameAndSection)])],
    ],
  ]);
  return [{ file: 'berth.8', roff: overview }, ...commands];
}

/** `berth.yml.5`: the page berth.yml(5). */
function nameAndSection({ file }: ManPage): readonly [name: string, section: number] {
  return [file.slice(0, -2), Number(file.at(-1))];
}

function commandPage(node: CommandNode, release: Release): ManPage {
  const name = `berth-${node.name}`;
  const roff = page({ name, section: 8, ...release }, [
    ['NAME', [`${escaped(name)} \\- ${text(node.describe)}`]],
    [
      'SYNOPSIS',
      node.commands.length === 0
        ? synopsis('berth', node)
        : node.commands.flatMap((own) => [...synopsis(`berth ${node.name}`, own), '.br']),
    ],
    ['DESCRIPTION', description(node)],
    ['OPTIONS', shownOptions(node).flatMap(option)],
    ['COMMANDS', node.commands.flatMap((own) => subsection(node.name, own))],
    ['EXAMPLES', [node, ...node.commands].flatMap(examples)],
    ['SEE ALSO', [seeAlso([['berth', 8]])]],
  ]);
  return { file: `${name}.8`, roff };
}

function subsection(parent: string, node: CommandNode): string[] {
  return [
    `.SS ${escaped(`berth ${parent} ${node.command}`)}`,
    ...description(node),
    ...shownOptions(node).flatMap(option),
  ];
}

function description({ describe, epilogue, positionals }: CommandNode): string[] {
  return [
    text(`${describe}.`),
    ...(epilogue === undefined ? [] : ['.PP', text(epilogue)]),
    ...positionals.flatMap(({ name, describe: meaning }) =>
      entry(`\\fI${escaped(name.toUpperCase())}\\fR`, text(`${meaning}.`)),
    ),
  ];
}

function synopsis(before: string, node: CommandNode): string[] {
  return [
    `.B ${escaped(`${before} ${node.name}`)}`,
    `[\\fIOPTIONS\\fR] ${escaped(node.command.split(' ').slice(1).join(' '))}`.trimEnd(),
  ];
}

function option({ names, describe, type, ...rest }: OptionNode): string[] {
  const { kind, choices, default: value } = rest;
  const short = names.toSorted((one, other) => one.length - other.length);
  const placeholder = placeholderOf(kind, choices);
  const term = short.map((name) => `\\fB${escaped(name)}\\fR`).join(', ');
  const known = typeof value === 'string' && value !== '' ? ` Default: ${value}.` : '';
  const meaning =
    `${describe}${describe === '' || /[.\]]$/.test(describe) ? '' : '.'}${known}`.trim();
  // A line may end after each choice.
  const taken = escaped(placeholder).replaceAll('|', '|\\:');
  return entry(
    type === 'boolean' ? term : `${term} \\fI${taken}\\fR`,
    text(meaning === '' ? 'See above.' : meaning),
  );
}

function examples({ examples: all = [] }: CommandNode): string[] {
  return all.flatMap(([line, meaning]) => [
    '.PP',
    text(`${meaning}:`),
    '.PP',
    '.RS 4',
    ...example([line]),
    '.RE',
  ]);
}

function seeAlso(pages: readonly (readonly [string, number])[]): string {
  return pages.map(([name, section]) => `\\fB${escaped(name)}\\fR(${section})`).join(', ');
}

const exitStatuses = [
  ...exitStatusTexts.flatMap(([status, meaning]) => entry(String(status), text(meaning))),
  '.PP',
  'From 64 to 78 they are those of sysexits(3).',
];

const files = [
  ...entry(
    '.I /etc/berth',
    'The configuration: berth.yml, ssh.yml, profiles, admission.yml, balancer.yml.',
  ),
  ...entry('.I /usr/lib/berth', 'The programs and their Node.'),
  ...entry('.I /usr/lib/berth/share/docs', 'The documentation.'),
  ...entry('.I /usr/lib/berth/share/etc', 'Examples of configuration, units and manifests.'),
  ...entry('.I /var/lib/berth', 'State of the hooks.'),
  ...entry('.I /var/lib/berth\\-ssh', "Users' containers, and the shared images."),
];
