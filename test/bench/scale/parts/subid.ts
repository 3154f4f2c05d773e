import { EtcDirectory, type Person, berth } from '../../../node/subid/etc-directory.ts';
import { ensureCommand } from '../../../rig/site/debian-packages.ts';
import { installBerth } from '../../../rig/site/portal.ts';
import { recordCommand } from '../bounded-command.ts';
import type { ScalePart } from '../parts.ts';

const counts = [6_000, 20_000, 60_000];
/** Supplementary groups of the site, of which each account has three. */
const groups = 5_000;
const firstUid = 100_000;
/** 60,000 ranges of 65,536 IDs take nine tenths of all 32-bit IDs: with the default `--base` there is room for 55,535. */
const layout = ['--first-uid', String(firstUid), '--base', '327680'];

/** Subordinate IDs for all accounts, which are in passwd and group: `--prefix` reads those of another root directory. */
export const subid: ScalePart = {
  title: 'Subordinate IDs for all accounts',
  async run(record) {
    await ensureCommand('time', 'time');
    await installBerth();
    for (const count of counts) {
      const etc = await EtcDirectory.make(people(count));
      try {
        const size = { count, of: 'accounts' };
        const command = (...words: string[]): Parameters<typeof recordCommand>[1] => ({
          ...{ what: `berth subid ${words.join(' ')}`, size },
          argv: [berth, 'subid', ...words, ...layout, '--prefix', etc.root],
        });
        await recordCommand(record, command('plan'));
        await recordCommand(record, command('plan', '--groups'));
        await recordCommand(record, {
          ...command('apply', '--groups'),
          before: async () => {
            for (const name of ['subuid', 'subgid']) await etc.write(name, '');
          },
        });
        const again = command('apply', '--groups');
        await recordCommand(record, { ...again, what: `${again.what}, a second time` });
      } finally {
        await etc.remove();
      }
    }
  },
};

function people(count: number): Person[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `user${index}`,
    uid: firstUid + index,
    groups: [0, 1, 2].map((nth) => 200_000 + ((index * 7 + nth * 1_301) % groups)),
  }));
}
