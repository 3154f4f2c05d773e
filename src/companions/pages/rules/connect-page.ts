import { html, type Html } from './html.ts';
import { commandFor, type SshAddress, type Site } from './site.ts';

/** How to connect, from each system, with lines to copy. */
export function connectPage({ host, addresses, hostKeys, authorities, news }: Site): Html {
  const [latest] = news;
  // Its sshd is not known here.
  const [first = { host, port: 22, sshdPort: 22 }] = addresses;
  return html`<h1>Connect with SSH</h1>
    ${latest && html`<p class="note"><strong>News:</strong> <a href="news.html#${latest.id}">${latest.title}</a></p> `}
    <p>
      Put your user name in the place of <code>USER</code>. You need no program but an SSH client.
    </p>
    ${addresses.map(addressText)}
    <h2 id="config">A short name</h2>
    <p>
      With these lines in <code>~/.ssh/config</code>, on Windows
      <code>%USERPROFILE%\\.ssh\\config</code>, <code>ssh ${shortName(first, addresses)}</code> is
      enough, and VS Code lists the name.
    </p>
    <pre><code>${[first, ...addresses.slice(1)].map((address) => configText(address, addresses)).join('\n')}</code></pre>
    ${checkText(hostKeys, authorities)}
    <h2 id="linux">Linux</h2>
    <p>
      Open a terminal. If <code>ssh</code> is missing, install the package
      <code>openssh-client</code> or <code>openssh-clients</code>.
    </p>
    ${blocks(commandFor('ssh', first), commandFor('sftp', first))}
    <h2 id="macos">macOS</h2>
    <p>Open Terminal, in Applications → Utilities. <code>ssh</code> is a part of macOS.</p>
    ${blocks(commandFor('ssh', first), commandFor('sftp', first))}
    <h2 id="windows">Windows</h2>
    <p>
      Open PowerShell. <code>ssh</code> is a part of Windows 10 and later; if it is missing, add the
      optional feature OpenSSH Client in the settings.
    </p>
    ${blocks(commandFor('ssh', first), commandFor('sftp', first))}
    <p>
      In PuTTY or WinSCP: host name <code>${first.host}</code>, port <code>${first.port}</code>.
    </p>
    <h2 id="vscode">VS Code</h2>
    <ol>
      <li>Write the lines of <a href="#config">A short name</a> into the file.</li>
      <li>
        Install the extension Remote - SSH:
        ${blocks('code --install-extension ms-vscode-remote.remote-ssh')}
      </li>
      <li>
        Press F1, choose <em>Remote-SSH: Connect to Host…</em> and then
        <code>${shortName(first, addresses)}</code>. Or:
        ${blocks(`code --remote ssh-remote+${shortName(first, addresses)}`)}
      </li>
    </ol> `;
}

function addressText(address: SshAddress): Html {
  const { name, profile } = address;
  const what =
    profile === undefined
      ? html`The <a href="profiles.html">profile</a> that you get depends on your account.`
      : html`Your session has the profile
          <a href="profiles.html#profile-${profile}">${profile}</a>.`;
  return html`${name && html`<h2>${name}</h2> `}
    <p>${what}</p>
    ${blocks(commandFor('ssh', address))}`;
}

function blocks(...lines: readonly string[]): Html {
  return html`${lines.map((line) => html`<pre><code>${line}</code></pre>`)}`;
}

/** A name for ~/.ssh/config: the first label of the host's name, and the kind's name if there are several. */
function shortName({ host, name }: SshAddress, { length }: readonly SshAddress[]): string {
  const label = /^[\d.:]+$/.test(host) ? host : host.replace(/\..*$/, '');
  return length > 1 && name !== undefined ? `${label}-${name}` : label;
}

function configText(address: SshAddress, addresses: readonly SshAddress[]): string {
  return `Host ${shortName(address, addresses)}
    HostName ${address.host}
    Port ${address.port}
    User USER
`;
}

/** How to know the host. */
function checkText(hostKeys: Site['hostKeys'], authorities: Site['authorities']): Html | undefined {
  if (hostKeys.length === 0) return undefined;
  const keys = hostKeys.map(
    ({ type, fingerprint }) => html`<li>${type} <code>${fingerprint}</code></li> `,
  );
  return html`<h2 id="keys">Is it the right host?</h2>
    <p>
      At your first connection, <code>ssh</code> shows the fingerprint of the host's key. Answer
      <code>yes</code> only if it is one of these:
    </p>
    <ul>
      ${keys}
    </ul>
    ${
      authorities.length === 0
        ? undefined
        : html`<p>
              Or add ${authorities.length === 1 ? 'this line' : 'these lines'} to
              <code>~/.ssh/known_hosts</code>, on Windows
              <code>%USERPROFILE%\\.ssh\\known_hosts</code>; <code>ssh</code> then knows the host by
              its certificate and does not ask:
            </p>
            ${blocks(authorities.join('\n'))} `
    }`;
}
