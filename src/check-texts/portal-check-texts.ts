import { installedPath } from '../installed-path.ts';
import type { CheckText } from './check-text.ts';

export const portalCheckTexts = {
  node: {
    what: 'The version of the Node that runs Berth.',
    why: 'It is older than what Berth is tested with.',
    next: 'Install a newer Node, and build with `--node PATH`.',
  },
  config: {
    what: 'Whether hook.env, berth.yml and clusters.d can be read together.',
    why: 'A file is missing or has a mistake, so the hook stops every login.',
    next: 'Correct the file and the line that the message names.',
  },
  'config-dir': {
    what: 'Which files of `--config-dir` are read instead of the installed ones.',
    why: 'It does not fail. This result is for information.',
    next: 'Check that these are the files that you want to try.',
  },
  'config-warning': {
    what: 'Valid settings that probably do not do what was intended.',
    why: 'A key has no effect, or does something else than its author may expect.',
    next: 'Correct it in the file and the line that the message names.',
  },
  clusters: {
    what: 'A placeholder: no cluster was checked.',
    why: 'The clusters are not known, because the configuration cannot be read.',
    next: 'Correct what the check `config` says.',
  },
  'admission-config': {
    what: 'Whether admission.yml is valid.',
    why: '`berth render policies` would refuse it.',
    next: 'Correct the key that the message names.',
  },
  'balancer-config': {
    what: 'Whether balancer.yml is valid.',
    why: '`berth render balancer` would refuse it.',
    next: 'Correct the key that the message names.',
  },
  'state-dir': {
    what: 'Owner and mode of the state directory, /var/lib/berth.',
    why: 'Users other than root can read or replace credentials of users.',
    next: 'Check its contents, then `chown root` and `chmod 0700` it.',
  },
  'kube-credential': {
    what: 'Whether the exec plugin that the kubeconfigs of users name is installed, and belongs to root.',
    why: 'kubectl of every user fails, or runs a program that somebody else can replace.',
    next: 'Install the package again, or correct `kube_credential` in berth.yml.',
  },
  'broker-units': {
    what: 'Whether the systemd units of the credential broker are installed.',
    why: 'kubectl cannot renew tokens of a confidential client between two logins at the portal.',
    next: `Copy ${installedPath('share/etc/systemd/berth-broker*')} to /etc/systemd/system and run \`systemctl daemon-reload\`.`,
  },
  'portal-hook': {
    what: 'Whether OnDemand runs the hook before a PUN starts.',
    why: 'No user gets credentials or a namespace.',
    next: 'Set `pun_pre_hook_root_cmd` in ood_portal.yml as the message says, and run update_ood_portal.',
  },
  'portal-sandbox': {
    what: 'Whether the unit of Apache hides files that the hook reads.',
    why: 'The hook, a child of Apache, does not see its files although they exist.',
    next: "Move the file to a directory that Apache's unit does not hide, such as /etc/berth, and set its new path in berth.yml.",
  },
  'portal-tokens': {
    what: 'Whether Apache passes tokens of users on to servers of other users.',
    why: 'A user who runs a server on a node can read the tokens of those who visit it.',
    next: 'Set what the message names in ood_portal.yml, and run update_ood_portal.',
  },
  'portal-session-cookie': {
    what: 'Whether Apache passes the session cookie of the portal on to servers of other users.',
    why: 'A user who runs a server on a node can take over the sessions of those who visit it.',
    next: 'Set what the message names in ood_portal.yml, and run update_ood_portal.',
  },
  'portal-exports': {
    what: 'Whether the hook receives the tokens that the clusters need.',
    why: 'Logins find no token, so users get no credentials.',
    next: 'Add the variables to `pun_pre_hook_exports` in ood_portal.yml, and run update_ood_portal.',
  },
  'portal-refresh': {
    what: 'Whether the portal and kubectl use the same refresh token.',
    why: "With rotating refresh tokens each of them makes the other one's invalid.",
    next: 'Set `credentials.own_refresh_token`, disable rotation at the provider, or remove the directives that the message names from oidc_settings.',
  },
  issuer: {
    what: 'Whether the identity provider answers, and its discovery document is that of the issuer.',
    why: 'No token can be checked or renewed.',
    next: 'Compare the issuer with the URL in the message; check the CA and the network.',
  },
  'issuer-audience': {
    what: 'Whether the tokens have the audience of the cluster.',
    why: 'The API server would refuse them.',
    next: 'Add an audience mapper to the client, or correct `audience` in berth.yml.',
  },
  'issuer-client': {
    what: 'Whether the identity provider accepts the client and its secret or key.',
    why: 'Tokens cannot be renewed.',
    next: 'Compare the client and its secret with those of the provider.',
  },
  'issuer-clock': {
    what: 'Whether the clocks of this host and of the identity provider agree.',
    why: 'Valid tokens count as expired or as not yet valid.',
    next: 'Synchronize the clock of the host that is wrong.',
  },
  'issuer-exchange': {
    what: 'Whether the client may exchange tokens (RFC 8693).',
    why: 'Users get no token for the cluster.',
    next: 'Allow the exchange for the client at the provider.',
  },
  user: {
    what: 'Whether the account of `--user` exists and may have a namespace.',
    why: 'Its logins are refused.',
    next: 'Correct the name, or what the message says of the account.',
  },
  'user-home': {
    what: 'Whether the user can write to the home.',
    why: 'No kubeconfig can be written, so kubectl has no access.',
    next: 'Correct owner, mode, quota or the mount of the home.',
  },
  'user-kubeconfig': {
    what: 'What a login would change in the kubeconfig of the user, and whether it can.',
    why: "The file is invalid or not the user's, and kubectl has no access.",
    next: 'Correct it as the message says; the next login writes the entries again.',
  },
  'user-token': {
    what: 'Whether the stored token of the user is valid for this cluster.',
    why: 'kubectl asks the user to log in at the portal again.',
    next: 'Let the user log in at the portal; see the check `issuer` if that does not help.',
  },
} satisfies Readonly<Record<string, CheckText>>;
