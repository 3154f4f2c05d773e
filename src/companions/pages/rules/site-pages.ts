import { sourceText } from '../../../system/program/source-text.ts';
import { connectPage } from './connect-page.ts';
import { html, type Html } from './html.ts';
import { newsPage } from './news-page.ts';
import { profilesPage } from './profiles-page.ts';
import type { Site } from './site.ts';
import { statusPage } from './status-page.ts';

const pages = [
  { path: 'index.html', name: 'Connect', body: connectPage },
  { path: 'profiles.html', name: 'Profiles', body: profilesPage },
  { path: 'status.html', name: 'Status', body: statusPage },
  { path: 'news.html', name: 'News', body: newsPage },
] as const;

/** The files of the site, all in one directory: a ConfigMap has no other. The same input gives the same text. */
export function sitePages(site: Site): { readonly path: string; readonly text: string }[] {
  return [
    ...pages.map(({ path, name, body }) => ({
      path,
      text: document(site, path, name, body(site)).text,
    })),
    { path: 'style.css', text: sourceText('./style.css', import.meta.url) },
  ];
}

function document({ title }: Site, path: string, name: string, body: Html): Html {
  const links = pages.map((page) => {
    const current = page.path === path ? html` aria-current="page"` : undefined;
    return html`<li><a href="${page.path}" ${current}>${page.name}</a></li> `;
  });
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'" />
        <title>${name} – ${title}</title>
        <link rel="stylesheet" href="style.css" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <p>${title}</p>
          <nav aria-label="Pages">
            <ul>
              ${links}
            </ul>
          </nav>
        </header>
        <main id="main">${body}</main>
      </body>
    </html> `;
}
