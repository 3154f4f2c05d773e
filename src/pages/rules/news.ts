import { escapedForTerminal } from '../../log.ts';

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
    ...{ id: name.replace(/\.md$/, ''), date },
    title: heading ?? date,
    body: (heading === undefined ? text : body).trim(),
  };
}

/** More would push what else is shown off the screen. */
const mostItems = 3;
const width = 80;

/**
 * The newest news as a message of the day: the title and the first paragraph of each, in lines of at most 80 characters,
 * with control characters escaped.
 *
 * @param news the newest first
 */
export function messageOfTheDay(news: readonly NewsItem[]): string {
  return news
    .slice(0, mostItems)
    .map(({ date, title, body }) => {
      const [paragraph = ''] = body.split(/(?:\r?\n[ \t]*){2,}/);
      const lines = paragraph
        .split(/\r?\n/)
        // Items of a list stay on lines of their own.
        .reduce<string[]>((joined, line) => {
          const last = joined.pop();
          if (last === undefined) return [line];
          return /^ *(?:[-*+]|\d+[.)]) /.test(line)
            ? [...joined, last, line]
            : [...joined, `${last} ${line.trim()}`];
        }, []);
      const text = [`${date}  ${title}`, ...lines.filter((line) => line.trim() !== '')];
      return `${text.flatMap((line) => wrappedLines(escapedForTerminal(line))).join('\n')}\n`;
    })
    .join('\n');
}

/** Lines of at most `width` characters; a longer word is divided. */
function wrappedLines(text: string): string[] {
  const lines = [''];
  for (const word of text.trimEnd().split(' ')) {
    const last = lines.pop() ?? '';
    const joined = lines.length === 0 && last === '' ? word : `${last} ${word}`;
    if ([...joined].length <= width) lines.push(joined);
    else {
      const characters = [...word];
      if (last !== '') lines.push(last);
      for (let at = 0; at < characters.length; at += width)
        lines.push(characters.slice(at, at + width).join(''));
    }
  }
  return lines;
}
