import { countText } from '../../../system/text/count-text.ts';
import { html, type Html } from './html.ts';
import { commandFor, type Site } from './site.ts';

/** What works, as of the last runs of Berth's timers. */
export function statusPage({ status, settings, addresses: [address] }: Site): Html {
  const rows = status.map(({ what, state, lastRun, figures }) => {
    const numbers = figures.map(([count, noun]) => countText(count, noun)).join(', ');
    return html`<tr>
      <th scope="row">${what}</th>
      <td>
        <span class="${state === 'works' ? 'good' : 'bad'}">${state}</span
        >${numbers && ` (${numbers})`}
      </td>
      <td>${lastRun.split(' ').map((word) => html`<span class="word">${word}</span> `)}</td>
    </tr> `;
  });
  const own = settings.selfService;
  return html`<h1>Status</h1>
    ${
      rows.length === 0
        ? html`<p>Nothing is known about the status.</p> `
        : html`<table>
            <caption>
              What runs in the background. Each line is as new as its last run.
            </caption>
            <thead>
              <tr>
                <th scope="col">What</th>
                <th scope="col">State</th>
                <th scope="col">Last run</th>
              </tr>
            </thead>
            <tbody>
              ${rows}
            </tbody>
          </table> `
    }${
      own === undefined || address === undefined
        ? undefined
        : html`<p>
              Your own sessions: <code>${`${commandFor('ssh', address)} ${own}`} sessions</code>
            </p>
            <p>
              Your jobs, quotas and credentials:
              <code>${commandFor('ssh', address)} ${own} status</code>
            </p> `
    }`;
}
