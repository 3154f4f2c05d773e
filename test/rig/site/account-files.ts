import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testAccountComment } from './accounts.ts';

const names = ['passwd', 'shadow', 'group', 'gshadow', 'subuid', 'subgid'] as const;
export type AccountFile = (typeof names)[number];

/**
 * The account files of /etc for a host of a test: those of the machine, without the accounts that other tests
 * created there.
 *
 * @param etc directory of the files: the machine's /etc, or that of another host
 * @param keep names of the test accounts that the host has
 */
export async function accountFiles(
  etc: string,
  keep: readonly string[],
): Promise<ReadonlyMap<AccountFile, string>> {
  const texts = await Promise.all(
    names.map(async (name) => [name, await readFile(join(etc, name), 'utf8')] as const),
  );
  const passwd = new Map(texts).get('passwd') ?? '';
  const others = new Set(
    fieldsOf(passwd)
      .filter(
        ([name = '', , , , comment]) => comment === testAccountComment && !keep.includes(name),
      )
      .map(([name]) => name),
  );
  return new Map(texts.map(([name, text]) => [name, without(others, name, text)]));
}

function without(
  accounts: ReadonlySet<string | undefined>,
  file: AccountFile,
  text: string,
): string {
  const lines = fieldsOf(text).filter(([name]) => !accounts.has(name));
  // group(5) and gshadow(5) have the members in their last field.
  if (file === 'group' || file === 'gshadow')
    for (const fields of lines) {
      const members = fields.pop()?.split(',') ?? [];
      fields.push(members.filter((member) => !accounts.has(member)).join(','));
    }
  return lines.map((fields) => `${fields.join(':')}\n`).join('');
}

function fieldsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(':'));
}
