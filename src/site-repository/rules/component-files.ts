import { sourceText } from '../../source-text.ts';

/** The manifests of each component of `etc/kubernetes` that a site's repository may have, but for `admission`. */
export const componentFiles = {
  hook: { 'hook.yaml': sourceText('../../../etc/kubernetes/hook/hook.yaml', import.meta.url) },
  roles: { 'roles.yaml': sourceText('../../../etc/kubernetes/roles/roles.yaml', import.meta.url) },
  guard: { 'guard.yaml': sourceText('../../../etc/kubernetes/guard/guard.yaml', import.meta.url) },
  reaper: {
    'reaper.yaml': sourceText('../../../etc/kubernetes/reaper/reaper.yaml', import.meta.url),
  },
  'ldap-sync': {
    'ldap-sync.yaml': sourceText(
      '../../../etc/kubernetes/ldap-sync/ldap-sync.yaml',
      import.meta.url,
    ),
  },
  'ldap-config-maps': {
    'ldap-config-maps.yaml': sourceText(
      '../../../etc/kubernetes/ldap-config-maps/ldap-config-maps.yaml',
      import.meta.url,
    ),
  },
  'ssh-sessions': {
    'ssh-sessions.yaml': sourceText(
      '../../../etc/kubernetes/ssh-sessions/ssh-sessions.yaml',
      import.meta.url,
    ),
  },
  'ssh-sessions-list': {
    'ssh-sessions-list.yaml': sourceText(
      '../../../etc/kubernetes/ssh-sessions-list/ssh-sessions-list.yaml',
      import.meta.url,
    ),
  },
  'service-account-tokens': {
    'service-account-tokens.yaml': sourceText(
      '../../../etc/kubernetes/service-account-tokens/service-account-tokens.yaml',
      import.meta.url,
    ),
  },
  jupyterhub: {
    'jupyterhub.yaml': sourceText(
      '../../../etc/kubernetes/jupyterhub/jupyterhub.yaml',
      import.meta.url,
    ),
  },
  'user-roles': {
    'user-roles.yaml': sourceText(
      '../../../etc/kubernetes/user-roles/user-roles.yaml',
      import.meta.url,
    ),
  },
  'volume-claims': {
    'volume-claims.yaml': sourceText(
      '../../../etc/kubernetes/volume-claims/volume-claims.yaml',
      import.meta.url,
    ),
  },
  monitoring: {
    'balancer.yaml': sourceText(
      '../../../etc/kubernetes/monitoring/balancer.yaml',
      import.meta.url,
    ),
    'rules.yaml': sourceText('../../../etc/kubernetes/monitoring/rules.yaml', import.meta.url),
  },
  pages: { 'pages.yaml': sourceText('../../../etc/kubernetes/pages/pages.yaml', import.meta.url) },
} as const;
