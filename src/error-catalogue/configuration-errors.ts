import type { CatalogueEntries } from './entry.ts';

/** berth.yml, ssh.yml, profiles, admission.yml and clusters.d. */
export const configurationErrors = {
  'config-missing': {
    what: 'A configuration file does not exist.',
    why: 'It was never created, or the path in berth.yml or on the command line is wrong. On hosts where systemd hides /root from Apache (`ProtectHome`), the hook cannot see files there.',
    next: 'Create the file or correct the path. If the file exists, run `berth doctor`, which checks whether the Apache unit hides it.',
  },
  'config-empty': {
    what: 'A configuration file is empty.',
    why: 'It was truncated: a full disk, an interrupted copy, or a configuration management run that failed.',
    next: 'Restore its contents, or remove the file if it is optional.',
  },
  'config-unreadable': {
    what: 'A configuration file exists but could not be read.',
    why: 'Permissions (ssh.yml and profiles are read by the user and need mode 0644), SELinux labels, or a disk error.',
    next: 'Check `namei -l FILE` and `ls -Z FILE`.',
  },
  'config-not-a-file': {
    what: 'The path of a configuration file leads to a directory, device or FIFO.',
    why: 'The path is wrong, or a mount has created a directory where the file should be.',
    next: 'Put the file there, or correct the path.',
  },
  'config-not-a-directory': {
    what: 'The path of a configuration directory leads to something that is not a directory.',
    why: 'The path names one file instead of its directory.',
    next: 'Name the directory.',
  },
  'config-too-large': {
    what: 'A configuration file is larger than 1 MiB and was not read.',
    why: 'The path is that of another file, such as a log.',
    next: 'Correct the path.',
  },
  'config-not-utf8': {
    what: 'A configuration file is not UTF-8 text.',
    why: 'It was saved in Latin-1 or UTF-16, usually by an editor on Windows.',
    next: 'Convert it: `iconv -f LATIN1 -t UTF-8 FILE`.',
  },
  'config-yaml-invalid': {
    what: 'A configuration file is not valid YAML. The message gives the line and column.',
    why: 'A tab used for indentation, a missing space after a colon, or a value with a colon that is not quoted.',
    next: 'Correct the line that is named.',
  },
  'config-not-owned-by-root': {
    what: 'A configuration file was refused, because it does not belong to root.',
    why: 'It was copied or edited as another user. The owner could change what root runs.',
    next: 'Read the file, then run `chown root FILE`.',
  },
  'config-writable-by-others': {
    what: 'A configuration file was refused, because it is writable by its group or by everyone.',
    why: 'It was created with a permissive umask.',
    next: 'Read the file, then run `chmod go-w FILE`.',
  },
  'config-directory-writable': {
    what: 'A configuration file was refused, because somebody other than root can replace a directory above it.',
    why: 'A directory of the path belongs to another user or is writable by group or others.',
    next: 'Run `namei -l FILE` and correct the directory that the message names.',
  },
  'config-not-world-readable': {
    what: 'ssh.yml or a profile was refused, because users cannot read it.',
    why: 'Its mode is 0600 or 0640. A session reads these files with the rights of its user.',
    next: 'Run `chmod go+r FILE`. These files contain no secrets.',
  },
  'config-secret-readable-by-all': {
    what: 'A file with a secret, such as hook.env with CLIENT_SECRET, can be read by every account of this host.',
    why: 'Its mode lets others read it, for example 0644.',
    next: 'Run `chmod o-r FILE`. If users can log in to this host, replace the secret.',
  },
  'berth-yml-invalid': {
    what: 'berth.yml contains a key that does not exist, or a value that its key does not accept. The message gives the file, line and column of each.',
    why: 'A misspelled key (the message names the nearest one), wrong indentation, a key that belongs below `defaults` or `clusters.NAME`, or a value of another type.',
    next: 'Correct the lines that are named; /usr/lib/berth/share/docs/configuration-reference.md lists every key. A mistake in the settings of one cluster affects only that cluster.',
  },
  'ssh-yml-invalid': {
    what: 'ssh.yml contains a key that does not exist, or a value that its key does not accept. Sessions are refused until it is correct.',
    why: 'A misspelled key (the message names the nearest one), wrong indentation, or a value of another type.',
    next: 'Correct the lines that are named, then run `berth doctor`. /usr/lib/berth/share/docs/ssh-profiles.md lists every key.',
  },
  'admission-yml-invalid': {
    what: 'The parameters of the admission policies contain a mistake. No policy was printed.',
    why: 'A misspelled key or a value of another type in the file of `--parameters`.',
    next: 'Correct the lines that are named; /usr/lib/berth/share/docs/configuration-reference.md lists every key.',
  },
  'balancer-yml-invalid': {
    what: 'balancer.yml contains a mistake. Nothing was printed or written.',
    why: 'A misspelled key, a name, address or port that is there twice, or a kind of a system that is not in the list.',
    next: 'Correct the lines that are named; /usr/lib/berth/share/etc/berth/balancer.yml.example shows every key.',
  },
  'balancer-unknown': {
    what: 'balancer.yml has no balancer of the given name.',
    why: 'A misspelled name after --balancer, or the host is not in the list yet.',
    next: 'Use a name of `balancers`, or add the host to it.',
  },
  'kind-unknown': {
    what: 'balancer.yml has no kind of sessions of the given name.',
    why: 'A misspelled name after --kind.',
    next: 'Use a name of `kinds`.',
  },
  'kind-not-for-pods': {
    what: 'No objects were printed, because a kind of sessions with `client_address: transparent` cannot run in pods.',
    why: "A pod may not send packets with a client's address.",
    next: 'Use `client_address: log`, or run the balancer of this kind on hosts.',
  },
  'balancer-file-edited': {
    what: 'haproxy.cfg was not changed, because it is not as Berth wrote it. The differences were printed.',
    why: 'Somebody edited it, or it is the one of the package.',
    next: 'Move what was edited to balancer.yml. `--overwrite` replaces the file and keeps it beside the new one.',
  },
  'site-file-edited': {
    what: '`berth render site` changed nothing, because files in the directory are not as it wrote them.',
    why: 'Somebody edited them, or they were there before Berth.',
    next: 'Move the changes to clusters/NAME/kustomization.yaml, as patches: that file is yours. Then remove the edited files, or restore them with `git checkout`.',
  },
  'site-directory-unsafe': {
    what: '`berth render site` changed nothing, because a file or a directory in its way is a symlink, or no regular file.',
    why: 'Writing through it could change files outside the directory.',
    next: 'Give a directory of its own, such as the work tree of an empty Git repository.',
  },
  'balancer-file-unsafe': {
    what: 'The file that `berth render balancer --write` would replace is not a regular file of root or of the caller. Nothing was changed.',
    why: 'It is a symlink that leads nowhere, a FIFO or a device, or another user made it, in a directory such as /tmp in which everybody may make files.',
    next: 'Look at it with `ls -l`, and remove it if nobody needs it. Write to a directory that only root can write, such as /etc/haproxy.',
  },
  'haproxy-missing': {
    what: 'haproxy could not be run to check the new configuration. Nothing was changed.',
    why: 'It is not installed, or not in /usr/sbin.',
    next: 'Install haproxy 2.6 or later, or give its path with --haproxy.',
  },
  'haproxy-refused': {
    what: 'haproxy refused the new configuration. Nothing was changed.',
    why: 'haproxy is older than 2.6, or it lacks the Prometheus exporter or transparent proxying.',
    next: 'Read what haproxy says: `haproxy -c -f FILE` on the printed configuration.',
  },
  'profile-invalid': {
    what: 'A profile contains a mistake, or two of its keys contradict each other. Users of this profile get no session.',
    why: 'A misspelled key, a value of another type, a mount that would expose the storage of podman, or a key that needs another one.',
    next: 'Correct the lines named in the message, then run `berth plan --ssh --user NAME`.',
  },
  'profile-name-invalid': {
    what: 'The file name of a profile is not accepted.',
    why: 'It contains characters other than a-z, 0-9 and `-`, is longer than 40 characters, or ends in .yaml.',
    next: 'Rename the file to NAME.yml.',
  },
  'profile-missing': {
    what: 'A rule or `login --profile` names a profile that does not exist. Its users get no session.',
    why: 'The file was removed or renamed, or the name in ssh.yml or sshd_config is misspelled.',
    next: 'Compare ssh.yml and sshd_config with the files in /etc/berth/profiles.',
  },
  'profile-not-matched': {
    what: 'No rule in ssh.yml selects a profile for this user. This code is a reason for `session-refused`.',
    why: 'The user is in none of the groups that the rules name. After a change in the directory, sssd may still have the old groups in its cache.',
    next: 'Run `berth plan --ssh --user NAME`: it prints which rules were tried. Compare with `id NAME`.',
  },
  'template-invalid': {
    what: 'A value in a profile contains an unknown variable, or a `${` without a `}`.',
    why: 'Only `$USER`, `$UID`, `$GID` and `$HOME` exist; a dollar sign is written `$$`.',
    next: 'Correct it in the profile; /usr/lib/berth/share/docs/ssh-profiles.md explains templates.',
  },
  'template-value-unsafe': {
    what: 'The name or the home directory of the account contains characters that cannot be put into a path or a mount.',
    why: 'The directory service has a home with a space, a colon or a comma, or a relative home.',
    next: 'Correct the account in passwd or LDAP.',
  },
  'settings-cache-ignored': {
    what: 'The cache of the configuration was not used; all files were read instead. The login is some milliseconds slower.',
    why: 'The cache in the state directory has another owner, another mode or unexpected contents.',
    next: 'Look at the named file, then remove it. The next login writes it again.',
  },
  'settings-cache-not-written': {
    what: 'The cache of the configuration could not be written. Every login reads all files, which costs some milliseconds.',
    why: 'The state directory is full or read-only, or SELinux denies it.',
    next: 'The message has the reason. Check the state directory (`state_dir` of berth.yml, /var/lib/berth).',
  },
  'state-dir-unsafe': {
    what: 'The state directory was refused, because others could change what root reads from it.',
    why: 'It belongs to another user or is writable by group or others.',
    next: 'Look at its contents, then remove it: the next login creates it with the correct mode.',
  },
  'no-kubernetes-cluster': {
    what: 'No Kubernetes cluster is configured, so the hook does nothing.',
    why: 'No file in clusters.d has `adapter: kubernetes`, or `clusters_dir` is not the directory that OnDemand uses.',
    next: 'Compare `ls /etc/ood/config/clusters.d` with the message. `berth doctor` lists the clusters that were found.',
  },
  'cluster-unknown': {
    what: 'A cluster of this name is not configured.',
    why: 'The name is misspelled, or the file was removed from clusters.d while credentials for it still exist in homes. The name of a cluster is the name of its file without .yml.',
    next: 'Compare the name with `ls /etc/ood/config/clusters.d`.',
  },
  'cluster-name-invalid': {
    what: 'The name of a cluster contains characters that are not accepted.',
    why: 'The name of its file in clusters.d contains characters other than letters, digits, space and `_ . @ -`.',
    next: 'Rename the file.',
  },
  'cluster-value-invalid': {
    what: 'A file in clusters.d has a value that Berth cannot use. This cluster is left out; the others work.',
    why: 'An endpoint that is not an https address, a misspelled `auth.type`, or a value of another type.',
    next: 'Correct the key that is named. OnDemand ignores some of these mistakes silently.',
  },
  'cluster-duplicate': {
    what: 'clusters.d defines the same cluster twice, in NAME.yml and in NAME.yaml.',
    why: 'One of them is probably a backup copy.',
    next: 'Keep one of the two files.',
  },
  'cluster-auth-odic': {
    what: 'A file in clusters.d has `type: odic`. Berth reads it as `oidc`, but OnDemand does not, so its dashboard sets no context.',
    why: 'The misspelling is in OnDemand’s own documentation.',
    next: 'Write `type: oidc`.',
  },
  'cluster-config-file-tilde': {
    what: 'OnDemand will look for the kubeconfig of the user in a directory named `~`.',
    why: 'v2.job.config_file begins with `~/`, which the shell does not replace in `--kubeconfig=~/…`.',
    next: 'Write `$HOME/` instead of `~/`.',
  },
  'prefixes-differ': {
    what: 'hook.env and clusters.d give different prefixes for namespaces or user names. Berth and OnDemand use the prefix in clusters.d. If only hook.env has one, Berth uses it and OnDemand uses none, so that OnDemand looks in another namespace.',
    why: 'Only one of the two files was changed, or OSC’s hooks were used before, which read only hook.env.',
    next: 'Set both to the same value, or leave the variable of hook.env empty.',
  },
  'client-secret-of-other-issuer': {
    what: 'A cluster has another issuer than the one for which the client’s secret or key was configured. The secret is not sent there: at that issuer the client is public.',
    why: 'The issuer is set for this cluster, by hand or by `berth clusters discover`, and the secret in hook.env or in `defaults` of berth.yml.',
    next: 'If the issuer is right and the client has a secret there, set `credentials.client_secret_file` (or `client_auth_method` and its files) for this cluster. If not, correct `credentials.issuer`.',
  },
  'credentials-incomplete': {
    what: 'Credentials should come from the identity provider, but its issuer or client is not configured.',
    why: 'hook.env has no IDP_ISSUER_URL or CLIENT_ID, and berth.yml has no `credentials`.',
    next: 'Set the key that the message names. If your site writes kubeconfigs itself, set `credentials.mode: none`.',
  },
  'credentials-contradictory': {
    what: '`credentials.own_refresh_token` is set, but its requirements are not met.',
    why: 'It needs a token exchange and a client with a secret.',
    next: 'Set `credentials.exchange` and the secret of the client, or remove `credentials.own_refresh_token`.',
  },
  'client-key-not-private': {
    what: 'Every user of this host can read the private key of the portal’s client.',
    why: 'The mode of `credentials.client_key_file` gives others read permission.',
    next: 'Replace the key, because somebody may have read it. Set the mode of the new file: `chmod 0600 FILE`.',
  },
  'client-key-unusable': {
    what: '`credentials.client_key_file` contains no private key that can be used for signing.',
    why: 'The file is not PEM, the key is encrypted, RSA with fewer than 2048 bits, or of another type than RSA, P-256, P-384 or P-521.',
    next: 'Create one: `openssl ecparam -name prime256v1 -genkey -noout -out FILE`. Register its public key at the identity provider.',
  },
  'client-certificate-unusable': {
    what: '`credentials.client_certificate_file` cannot be used with the key of the client.',
    why: 'The file is not a PEM certificate, or it belongs to another key.',
    next: 'Compare `openssl x509 -in CERTIFICATE -noout -pubkey` with `openssl pkey -in KEY -pubout`.',
  },
  'docker-config-invalid': {
    what: 'The file of the pull secret is not a Docker config.json, so no pull secret was written.',
    why: 'It is empty, is not JSON or has no key `auths`.',
    next: 'Create it: `podman login --authfile FILE REGISTRY`. Check it with `jq .auths FILE`.',
  },
  'network-rewritten': {
    what: 'A network in `allow_cidrs` or NETWORK_POLICY_ALLOW_CIDR is written in a way that Kubernetes refuses from version 1.36 on. Berth uses the network that is meant.',
    why: 'The address has bits beyond the length, as 192.168.0.1/24 has, or is an IPv4 address written as IPv6, as ::ffff:10.0.0.0/104 is.',
    next: 'Write the network of the message in the line that is named. If only one address was meant, write it with /32, IPv6 with /128.',
  },
  'namespace-name-invalid': {
    what: 'The namespace of this user would have a name that Kubernetes does not accept. This user gets no namespace.',
    why: 'The user name has capital letters, an underscore or other characters, or the prefix and the name together are longer than 63 characters. OnDemand replaces only `.` and `@`.',
    next: 'Change the account name or `namespace_prefix`. `berth plan --user NAME` prints the resulting name.',
  },
} as const satisfies CatalogueEntries;
