import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { directoryNames } from '../../system/if-present.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { readAtMost } from '../../system/user-file.ts';
import { newsName, type NewsItem, parseNews } from './rules/news.ts';

/**
 * The news of a folder, the newest first, and the names of its other files. A missing folder is an empty one.
 *
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-not-utf8`
 */
export function readNews(directory: string): {
  readonly news: readonly NewsItem[];
  readonly others: readonly string[];
} {
  const names = directoryNames(directory).toSorted().toReversed();
  const ofNews = names.filter((name) => newsName.test(name));
  return {
    news: ofNews.map((name) => parseNews(name, readTrusted(join(directory, name)))),
    others: names.filter((name) => !newsName.test(name)),
  };
}

/** Bytes; far more than Berth writes. */
const longest = 1024 * 1024;

/** The texts of Berth's files for node_exporter's textfile collector. The directory may be another user's. */
export async function readMetrics(directory: string): Promise<string[]> {
  const names = directoryNames(directory).filter((name) => /^berth[\w-]*\.prom$/.test(name));
  const texts = await Promise.all(names.sort().map((name) => readRegular(join(directory, name))));
  return texts.filter((text) => text !== undefined);
}

/** @returns undefined if it is no regular file: reading a FIFO would wait for its writer, and a link may lead anywhere */
async function readRegular(file: string): Promise<string | undefined> {
  if (!(await lstat(file)).isFile()) return undefined;
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const opened = await open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  try {
    return (await readAtMost(opened, longest)).toString('utf8');
  } finally {
    await opened.close();
  }
}
