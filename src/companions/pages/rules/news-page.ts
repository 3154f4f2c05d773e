import MarkdownIt from 'markdown-it';
import { html, Html, printable } from './html.ts';
import type { Site } from './site.ts';

/** HTML in the Markdown is shown as text, and only links with harmless schemes are links. A page loads nothing from elsewhere. */
const markdown = new MarkdownIt({ html: false, linkify: false }).disable('image');

/** All news, the newest first. */
export function newsPage({ news }: Site): Html {
  const items = news.map(
    ({ id, date, title, body }) =>
      html`<article aria-labelledby="${id}">
        <h2 id="${id}">${title}</h2>
        ${title === date ? undefined : html`<p class="date"><time datetime="${date}">${date}</time></p> `}${rendered(body)}
      </article> `,
  );
  return html`<h1>News</h1>
    ${items.length === 0 ? html`<p>There is no news.</p> ` : items}`;
}

/** Below the item's title, so that headings are in order. */
function rendered(body: string): Html {
  const tokens = markdown.parse(printable(body.replaceAll('\r\n', '\n')), {});
  for (const token of tokens)
    if (/^h[1-6]$/.test(token.tag))
      token.tag = `h${Math.min(6, Math.max(3, Number(token.tag[1]) + 1))}`;
  return new Html(markdown.renderer.render(tokens, markdown.options, {}));
}
