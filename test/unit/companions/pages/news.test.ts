import { describe, expect, it } from 'vitest';
import { newsPage } from '../../../../src/companions/pages/rules/news-page.ts';
import {
  messageOfTheDay,
  newsName,
  parseNews,
} from '../../../../src/companions/pages/rules/news.ts';
import { exampleSite } from './example-site.ts';

const item = (text: string, name = '2026-11-26-image.md') => parseNews(name, text);
const page = (text: string): string => newsPage({ ...exampleSite, news: [item(text)] }).text;

describe('a file of news', () => {
  it.each(['2026-11-26.md', '2026-11-26-new-image.md'])('%s is news', (name) => {
    expect(newsName.test(name)).toBe(true);
  });

  it.each(['README.md', '2026-11-26.md~', '.2026-11-26.md', '2026-11-26 x.md', '2026-11-26.html'])(
    '%s is not',
    (name) => {
      expect(newsName.test(name)).toBe(false);
    },
  );

  it('has a date, a title and a text', () => {
    const expected = { id: '2026-11-26-image', date: '2026-11-26', title: 'New', body: 'Text.' };
    expect(item('# New\n\nText.\n')).toEqual(expected);
    expect(item('\r\n# New #\r\n\r\nText.\r\n')).toEqual(expected);
  });

  it('without a heading has its date as title, and loses none of its text', () => {
    const text = 'Text.\n\n# Later';
    expect(item(text)).toMatchObject({ title: '2026-11-26', body: text });
    expect(page(text)).not.toContain('<time');
    expect(messageOfTheDay([item(text)])).toBe('2026-11-26\nText.\n');
  });

  it('can be empty', () => {
    expect(item('')).toMatchObject({ title: '2026-11-26', body: '' });
    expect(item('# Only this')).toMatchObject({ title: 'Only this', body: '' });
  });
});

describe('the page of news', () => {
  it('shows HTML as text', () => {
    const text = page(
      '# <b onclick="x">T</b>\n\n<script>alert(1)</script>\n\n<img src=x onerror=y>',
    );
    expect(text).not.toMatch(/<(?:script|img|b)\b/);
    expect(text).toContain('&lt;script&gt;');
    expect(text).toContain('&#60;b onclick=&#34;x&#34;&#62;T&#60;/b&#62;');
  });

  it.each(['javascript:alert(1)', 'JaVaScRiPt:x', 'data:text/html,x', 'vbscript:x', 'file:///etc'])(
    'has no link to %s',
    (target) => {
      expect(page(`[x](${target}) <${target}>`)).not.toContain('<a ');
    },
  );

  it('loads nothing from elsewhere', () => {
    expect(page('![x](http://192.0.2.1/x.png)')).not.toContain('<img');
  });

  it('has headings below that of the item', () => {
    expect(page('# T\n\n# A\n\n## B\n\n##### C')).toMatch(/<h3>A<.*<h3>B<.*<h6>C</s);
  });

  it('has no control characters', () => {
    expect(page('# a\u001b[31m\n\nb\u0007\u202ec\u009b')).not.toMatch(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/,
    );
  });
});

describe('the message of the day', () => {
  it('has the first paragraphs of the three newest, in lines of 80 characters', () => {
    const long = 'word '.repeat(40);
    const news = ['1', '2', '3', '4'].map((day) =>
      item(`# Title ${day}\n\n${long}\n${long}\n\nMore.\n`, `2026-11-0${day}.md`),
    );
    const text = messageOfTheDay(news);
    expect(text).toMatch(/^2026-11-01 {2}Title 1\nword/);
    expect(text).toContain('Title 3');
    expect(text).not.toMatch(/Title 4|More/);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(text.split('\n').filter((line) => line.length > 75).length).toBeGreaterThan(9);
    expect(text).toMatch(/word\n\n2026-11-02 {2}[^]*word\n$/);
  });

  it('keeps the items of a list on lines of their own', () => {
    expect(messageOfTheDay([item('# T\n\n- one\n  more\n- two\n1. three')])).toBe(
      '2026-11-26  T\n- one more\n- two\n1. three\n',
    );
  });

  it('has no control characters but the ends of lines', () => {
    const text = messageOfTheDay([item('# a\u001b[31m\n\nb\u0007\tc\u202e\u009b1m\rd\\n')]);
    expect(text).toBe('2026-11-26  a\\u{1b}[31m\nb\\u{7}\\tc\\u{202e}\\u{9b}1m\\rd\\n\n');
  });

  it('is empty without news', () => {
    expect(messageOfTheDay([])).toBe('');
  });
});
