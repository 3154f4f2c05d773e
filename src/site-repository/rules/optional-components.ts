/** What `berth render site` can be asked for. The other components follow from the configuration of a cluster. */
export const optionalComponents = [
  ...['admission', 'reaper', 'ldap-sync', 'ldap-config-maps'],
  ...['ssh-sessions', 'ssh-sessions-list', 'monitoring', 'pages'],
] as const;
