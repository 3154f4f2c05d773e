import type { LiveAccounts, LiveAssociation } from './live-accounts.ts';
import type { AccountStep, UserStep } from './steps.ts';

/** Most names in one command. */
const mostNames = 200;

/** Longest list of names in one command, in bytes: the kernel takes 128 KiB for an argument (execve(2)). */
const longestList = 16_384;

/** Lists all associations of a cluster with their own limits: `wopl` leaves out those of the accounts above. */
export function listAssociations(cluster: string): readonly string[] {
  const fields = 'Account,ParentName,User,Partition,DefaultQOS,QOS,MaxSubmitJobs';
  return ['-P', '-n', 'list', 'associations', 'wopl', `cluster=${cluster}`, `format=${fields}`];
}

/** Lists the users of a cluster with their default accounts, a line for each association. */
export function listDefaults(cluster: string): readonly string[] {
  const format = 'format=User,DefaultAccount';
  return ['-P', '-n', 'list', 'users', 'withassoc', `cluster=${cluster}`, format];
}

/**
 * Reads both lists. A line with a name that cannot be an argument of sacctmgr(1) is left out, because Berth manages none; if no line can
 * be read, the answer is not a list.
 *
 * @returns The first line, of an answer that is not a list.
 */
export function parseLists(associations: string, defaults: string): LiveAccounts | string {
  const all: LiveAssociation[] = [];
  const unread: string[] = [];
  for (const line of linesOf(associations)) {
    const fields = line.split('|');
    const [account = '', parent = '', user = '', partition = '', defaultQos = ''] = fields;
    const [qos = '', maxSubmit = ''] = fields.slice(5);
    const isKnown = fields.length === 7 && /^\d*$/.test(maxSubmit);
    if (isKnown && [account, user].every((name) => /^[^\s,='"]*$/.test(name)))
      all.push({
        account,
        parent,
        user,
        partition,
        defaultQos,
        qos: qos.split(',').filter((one) => one !== ''),
        maxSubmit: maxSubmit === '' ? undefined : Number(maxSubmit),
      });
    else unread.push(line);
  }
  const ofUsers = new Map<string, string>();
  for (const line of linesOf(defaults)) {
    const [user = '', account = '', ...more] = line.split('|');
    if (more.length > 0 || user === '') unread.push(line);
    else ofUsers.set(user, account);
  }
  const [first] = unread;
  if (all.length === 0 && first !== undefined) return first;
  return { associations: all, defaults: ofUsers, unread };
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** The arguments of the commands that do a step, without `-i`. Each has a bounded number of names. */
export function stepArguments(
  step: AccountStep | UserStep,
  cluster: string,
): readonly (readonly string[])[] {
  const names = 'users' in step ? step.users : step.accounts;
  return portions(names).map((some) => argumentsOf(step, `name=${some.join(',')}`, cluster));
}

function argumentsOf(step: AccountStep | UserStep, name: string, cluster: string): string[] {
  const where = [name, `cluster=${cluster}`];
  switch (step.kind) {
    case 'add-accounts':
      return ['add', 'account', ...where, `parent=${step.parent}`];
    case 'set-parent':
      return ['modify', 'account', 'where', ...where, 'set', `parent=${step.parent}`];
    case 'set-qos':
      return [
        'modify',
        'account',
        'where',
        ...where,
        'set',
        ...(step.qos.length === 0 ? [] : [`qos=${step.qos.join(',')}`]),
        ...(step.defaultQos === undefined ? [] : [`defaultqos=${step.defaultQos}`]),
      ];
    case 'add-users':
      return [
        'add',
        'user',
        ...where,
        `account=${step.account}`,
        ...(step.isDefault ? [`defaultaccount=${step.account}`] : []),
      ];
    case 'open':
      return [
        'modify',
        'user',
        'where',
        ...where,
        `account=${step.account}`,
        ...(step.partition === '' ? [] : [`partition=${step.partition}`]),
        'set',
        `maxsubmitjobs=${step.maxSubmit ?? -1}`,
      ];
    case 'set-default':
      return ['modify', 'user', 'where', ...where, 'set', `defaultaccount=${step.account}`];
    case 'close':
      return [
        'modify',
        'user',
        'where',
        ...where,
        `account=${step.account}`,
        'set',
        'maxsubmitjobs=0',
      ];
  }
}

/** The same command in two, each with half of the names; undefined if it has one. */
export function halves(args: readonly string[]): readonly (readonly string[])[] | undefined {
  const at = args.findIndex((word) => word.startsWith('name='));
  const names = (args[at] ?? '').slice('name='.length).split(',');
  const middle = Math.ceil(names.length / 2);
  if (names.length < 2) return undefined;
  return [names.slice(0, middle), names.slice(middle)].map((some) =>
    args.with(at, `name=${some.join(',')}`),
  );
}

function portions(names: readonly string[]): string[][] {
  const all: string[][] = [];
  let length = 0;
  for (const name of names) {
    const last = all.at(-1);
    length += name.length + 1;
    if (last === undefined || last.length === mostNames || length > longestList) {
      all.push([name]);
      length = name.length + 1;
    } else last.push(name);
  }
  return all;
}
