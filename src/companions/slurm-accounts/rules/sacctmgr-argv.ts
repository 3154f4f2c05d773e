import type { LiveAccounts, LiveAssociation } from './live-accounts.ts';
import type { AccountStep, UserStep } from './steps.ts';

/** Most names in one command. */
const mostNames = 200;

/** Longest list of names in one command, in bytes: the kernel takes 128 KiB for an argument (execve(2)). */
const longestList = 16_384;

/** Lists all associations of a cluster with their own limits: `wopl` leaves out those of the accounts above. */
export function listAssociations(cluster: string): readonly string[] {
  const columns = 'Account,ParentName,User,Partition,DefaultQOS,QOS,MaxSubmitJobs';
  return ['-P', '-n', 'list', 'associations', 'wopl', `cluster=${cluster}`, twice(columns)];
}

/** Lists the users of a cluster with their default accounts, a line for each association. */
export function listDefaults(cluster: string): readonly string[] {
  const columns = 'User,DefaultAccount';
  return ['-P', '-n', 'list', 'users', 'withassoc', `cluster=${cluster}`, twice(columns)];
}

/**
 * Coordinators of an account choose names with `|` and line breaks, which sacctmgr(1) does not quote. With each column twice,
 * they cannot look like rows only: the line that ends at the first break of the second half has at least one field more
 * than the first line of the row, which ends at the same break. With a width it is another column to sacctmgr; `-P` ignores the width.
 */
function twice(columns: string): string {
  return `format=${columns},${columns.replaceAll(/\w+/g, '$&%1')}`;
}

/**
 * Reads both lists. A row with a name that cannot be an argument of sacctmgr(1) is left out, because Berth manages none.
 *
 * @returns The first line that is no row: then no other line can be trusted.
 */
export function parseLists(associations: string, defaults: string): LiveAccounts | string {
  const all: LiveAssociation[] = [];
  const unread: string[] = [];
  for (const line of linesOf(associations)) {
    const fields = line.split('|');
    const [account = '', parent = '', user = '', partition = '', defaultQos = ''] = fields;
    const [qos = '', maxSubmit = ''] = fields.slice(5);
    if (fields.length !== 14 || !/^\d*$/.test(maxSubmit)) return line;
    if ([account, user].every((name) => /^[^\s,='"]*$/.test(name)))
      all.push({
        account,
        parent,
        user,
        partition,
        defaultQos,
        qos: qos.split(',').filter((one) => one !== ''),
        maxSubmit: maxSubmit === '' ? undefined : Number(maxSubmit),
      });
    else unread.push(line.slice(0, line.length / 2));
  }
  const ofUsers = new Map<string, string>();
  for (const line of linesOf(defaults)) {
    const [user = '', account = '', ...more] = line.split('|');
    if (more.length !== 2) return line;
    ofUsers.set(user, account);
  }
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
      return modify('account', where, `parent=${step.parent}`);
    case 'set-qos':
      return modify(
        'account',
        where,
        ...(step.qos.length === 0 ? [] : [`qos=${step.qos.join(',')}`]),
        ...(step.defaultQos === undefined ? [] : [`defaultqos=${step.defaultQos}`]),
      );
    case 'add-users':
      return [
        'add',
        'user',
        ...where,
        `account=${step.account}`,
        ...(step.isDefault ? [`defaultaccount=${step.account}`] : []),
      ];
    case 'open':
      where.push(`account=${step.account}`);
      if (step.partition !== '') where.push(`partition=${step.partition}`);
      return modify('user', where, `maxsubmitjobs=${step.maxSubmit ?? -1}`);
    case 'close':
      return modify('user', [...where, `account=${step.account}`], 'maxsubmitjobs=0');
    case 'set-default':
      return modify('user', where, `defaultaccount=${step.account}`);
  }
}

function modify(what: string, where: readonly string[], ...values: readonly string[]): string[] {
  return ['modify', what, 'where', ...where, 'set', ...values];
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
