import type { NamedAccounts } from './directives.ts';
import type { PamLine } from './pam-lines.ts';

/** The text of all files that a pattern of glob(3) matches. */
type ReadLists = (pattern: string) => Promise<string>;

/** The users and groups whom the lists in the lines of a PAM stack admit by name. */
export async function namedByPam(
  lines: readonly PamLine[],
  read: ReadLists,
): Promise<NamedAccounts> {
  const all = await Promise.all(lines.map((line) => namedByLine(line, read)));
  return {
    users: [...new Set(all.flatMap(({ users }) => users))],
    groups: [...new Set(all.flatMap(({ groups }) => groups))],
  };
}

async function namedByLine({ module, args }: PamLine, read: ReadLists): Promise<NamedAccounts> {
  const option = (name: string) =>
    args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
  switch (module.split('/').at(-1) ?? '') {
    case 'pam_access.so': {
      const file = option('accessfile') ?? '/etc/security/{access,access.d/*}.conf';
      return namedByAccess(await read(file), {
        field: option('fieldsep') ?? ':',
        list: option('listsep') ?? ', \t',
        onlyUsers: args.includes('nodefgroup'),
      });
    }
    case 'pam_listfile.so': {
      const names = linesOf(await read(option('file') ?? ''));
      if (option('sense') !== 'allow') return nobody;
      return option('item') === 'group'
        ? { users: [], groups: names }
        : { users: names, groups: [] };
    }
    case 'pam_succeed_if.so':
      return namedByConditions(args);
    default:
      return nobody;
  }
}

const nobody: NamedAccounts = { users: [], groups: [] };

interface AccessSyntax {
  readonly field: string;
  readonly list: string;
  /** Whether a name without brackets is a user only, not a group. */
  readonly onlyUsers: boolean;
}

/** Lines of access.conf(5) that admit: `+ : alice (group) EXCEPT bob : ORIGINS`. */
function namedByAccess(text: string, { field, list, onlyUsers }: AccessSyntax): NamedAccounts {
  const names = linesOf(text).flatMap((line) => {
    const [sign = '', who = ''] = splitAt(line, field);
    if (line.startsWith('#') || sign.trim() !== '+') return [];
    const words = splitAt(who, list).map((word) => word.trim());
    const except = words.indexOf('EXCEPT');
    return words.slice(0, except === -1 ? words.length : except);
  });
  const plain = names.filter((name) => !/^(?:$|\(|@|(?:ALL|NONE)$)/.test(name));
  const groups = names.flatMap((name) => /^\((.+)\)$/.exec(name)?.[1] ?? []);
  return { users: plain, groups: onlyUsers ? groups : [...groups, ...plain] };
}

/** `user ingroup one:two`, `user in one:two`, `user = one` of pam_succeed_if(8). */
function namedByConditions(args: readonly string[]): NamedAccounts {
  const conditions = args.flatMap((arg, at) =>
    arg === 'user' ? [{ operator: args[at + 1], names: (args[at + 2] ?? '').split(':') }] : [],
  );
  const of = (...operators: string[]) =>
    conditions
      .filter(({ operator = '' }) => operators.includes(operator))
      .flatMap(({ names }) => names.filter((name) => name !== ''));
  return { users: of('in', '=', 'eq'), groups: of('ingroup') };
}

/** As strtok(3): every character separates, and several count as one. */
function splitAt(text: string, separators: string): string[] {
  const parts = [''];
  for (const one of text)
    if (separators.includes(one)) parts.push('');
    else parts.push((parts.pop() ?? '') + one);
  return parts.filter((part) => part !== '');
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
