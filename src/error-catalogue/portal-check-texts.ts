import type { CheckText } from './check-texts.ts';

/** See `checkTexts`. */
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
    why: 'It never fails.',
    next: 'Nothing.',
  },
  'config-warning': {
    what: 'What is odd in the configuration, but has a meaning.',
    why: 'A key has no effect, or does something else than its author may expect.',
    next: 'Correct it in the file and the line that the message names.',
  },
  clusters: {
    what: 'Stands for the checks of all clusters.',
    why: 'It is skipped if the configuration cannot be read.',
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
    why: 'Somebody else than root can read or replace credentials of users.',
    next: 'Look at what is in it, then give it back to root with mode 0700.',
  },
  'kube-credential': {
    what: 'Whether the exec plugin that the kubeconfigs of users name is installed, and belongs to root.',
    why: 'kubectl of every user fails, or runs a program that somebody else can replace.',
    next: 'Install the package again, or correct `kube_credential` in berth.yml.',
  },
  'broker-units': {
    what: 'Whether the socket of the credential broker is active.',
    why: 'kubectl cannot renew tokens of a confidential client between two logins at the portal.',
    next: 'Run `systemctl enable --now` for the unit that the message names.',
  },
  'portal-hook': {
    what: 'Whether OnDemand runs the hook before a PUN starts.',
    why: 'No user gets credentials or a namespace.',
    next: 'Set `pun_pre_hook_root_cmd` in ood_portal.yml as the message says, and run update_ood_portal.',
  },
  'portal-sandbox': {
    what: 'Whether the unit of Apache hides files that the hook reads.',
    why: 'The hook, a child of Apache, does not see its files although they exist.',
    next: 'Add the drop-in that the message names, and restart Apache.',
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
    next: 'Give the cluster a client of its own, or let only one of them renew tokens.',
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
