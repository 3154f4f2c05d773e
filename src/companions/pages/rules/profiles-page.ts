import { html, type Html } from './html.ts';
import { profileFacts } from './profile-facts.ts';
import { commandFor, type Site } from './site.ts';

/** The profiles that a rule or an address names: what sessions run in, and who may use them. */
export function profilesPage({ settings, addresses }: Site): Html {
  const { rules, profiles, broken } = settings;
  const named = [...rules, ...addresses].flatMap(({ profile }) => profile ?? []);
  const names = [...new Set(named)].filter((name) => profiles.has(name) || broken.has(name));
  const each = names.map((name) => {
    const profile = profiles.get(name);
    const own = rules.filter((rule) => rule.profile === name);
    // Where the rules choose, and one for this profile fits.
    const asked = addresses.find(
      (address) =>
        address.profile === undefined &&
        own.some(({ ports = [address.sshdPort] }) => ports.includes(address.sshdPort)),
    );
    const words = ['-o', `SetEnv=BERTH_PROFILE=${name}`];
    return html`<article aria-labelledby="profile-${name}">
      <h2 id="profile-${name}">${name}</h2>
      ${
        profile === undefined
          ? html`<p class="bad">Not available at the moment: its configuration has a mistake.</p>`
          : html`<dl>
              ${profileFacts(profile, own, addresses).map(
                ([key, value]) =>
                  html`<dt>${key}</dt>
                    <dd>${value}</dd> `,
              )}
            </dl>`
      }
      ${
        profile !== undefined && asked !== undefined && names.length > 1
          ? html`<p>To ask for it:</p>
              <pre><code>${commandFor('ssh', asked, words)}</code></pre>`
          : undefined
      }
    </article> `;
  });
  return html`<h1>Profiles</h1>
    <p>
      A profile says what your session runs in. Unless you ask for another, you get the first one
      here that you may use on the port to which you connect, and that is not on request.
    </p>
    ${each.length === 0 ? html`<p>There are no profiles here.</p> ` : each}`;
}
