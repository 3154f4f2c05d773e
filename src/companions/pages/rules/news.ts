import { escapedForTerminal } from '../../../log.ts';
import { wrapped } from '../../../system/text/wrapped-text.ts';

/** A file of the folder of news. */
export interface NewsItem {
  /** The file's name without `.md`, and the address on the page. */
  readonly id: string;
  /** `2026-11-26`, with which the file's name begins. */
  readonly date: string;
  readonly title: string;
  /** Markdown, without the title. */
  readonly body: string;
}

/** Names of files that are news: `2026-11-26-maintenance.md`. */
export const newsName = /^(\d{4}-\d\d-\d\d)(?:-[A-Za-z0-9-]+)?\.md$/;

/** @param name matches `newsName` */
export function parseNews(name: string, text: string): NewsItem {
  const [, date = ''] = newsName.exec(name) ?? [];
  const [, title, body = ''] = /^\s*# +(.*?)(?: +#*)? *\r?\n?$([^]*)/m.exec(text) ?? [];
  const heading = /^\s*# /.test(text) ? title : undefined;
  return {
    id: name.replace(/\.md$/, ''),
    date,
    title: heading ?? date,
    body: (heading === undefined ? text : body).trim(),
  };
}

/** More would push what else is shown off the screen. */
const mostItems = 3;

/**
 * The newest news as a message of the day: the title and the first paragraph of each, in lines of at most 80 characters
 * where words allow it, with control characters escaped.
 *
 * @param news the newest first
 */
export function messageOfTheDay(news: readonly NewsItem[]): string {
  const texts = news.slice(0, mostItems).map(({ date, title, body }) => {
    const [paragraph = ''] = body.split(/(?:\r?\n[ \t]*){2,}/);
    // Items of a list stay on lines of their own.
    const lines = paragraph.split(/\r?\n(?=[ \t]*(?:[-*+]|\d+[.)]) )/);
    return [title === date ? date : `${date}  ${title}`, ...lines]
      .map((line) => wrapped(escapedForTerminal(line.trimEnd().replace(/\s*\r?\n\s*/g, ' '))))
      .join('\n')
      .trimEnd();
  });
  return texts.map((text) => `${text}\n`).join('\n');
}
