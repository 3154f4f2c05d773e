import type { CatalogueEntries } from './entry.ts';

/** API servers, namespaces, and the hook's own access to a cluster. */
export const clusterErrors = {
  'capi-missing': {
    what: 'The cluster has no API group of Cluster API, so it is no management cluster.',
    why: 'The kubeconfig, or its current context, leads to another cluster.',
    next: 'Run `kubectl --kubeconfig FILE get clusters --all-namespaces`, and name the file and the context with which it works.',
  },
  'clusters-all-gone': {
    what: 'No Cluster is left of those that `berth clusters discover` wrote into clusters.d. Nothing was changed.',
    why: 'They were moved to another management cluster (`clusterctl move`), or all were deleted.',
    next: 'Give the kubeconfig of the management cluster that has them now. Or remove their files with `--allow-none`.',
  },
  'discover-incomplete': {
    what: '`berth clusters discover` skipped some Clusters because of errors. All others were handled.',
    why: 'A kubeconfig in a Secret of the management cluster cannot be used, the API servers take tokens of an unknown identity provider, or a name or a file is in use already.',
    next: 'The output says the reason for each. Correct the objects, or move the file away. Allow another identity provider with `--issuer URL` only if users may send its tokens to these clusters.',
  },
  'api-unreachable': {
    what: 'No connection to the API server could be established.',
    why: 'The API server or its load balancer is down, a firewall blocks this host, or the address in clusters.d or in the kubeconfig is wrong.',
    next: 'On this host: `curl -k https://HOST:PORT/version`, with the address in the message. The next login tries again.',
  },
  'api-certificate': {
    what: 'The certificate of the API server was not accepted.',
    why: 'The CA certificate in clusters.d or in the kubeconfig is not the one that signed it (for example after the cluster was rebuilt), the certificate has expired, or it does not contain the name in the address.',
    next: 'Compare with `openssl s_client -connect HOST:PORT -showcerts`. Run `berth token setup --cluster NAME --from ADMIN_KUBECONFIG` to write the current CA certificate.',
  },
  'api-connection-lost': {
    what: 'The API server closed the connection before it had answered.',
    why: 'The API server is restarting, or a load balancer or firewall drops connections.',
    next: 'Check the logs of the API server and the load balancer for this time. The next login tries again.',
  },
  'api-deadline': {
    what: 'The API server accepted the request but did not answer within the time limit.',
    why: 'It is overloaded, etcd is slow, or an admission webhook does not answer.',
    next: 'Run `kubectl get --raw "/readyz?verbose"` and check the webhooks. The next login tries again. `deadline` of berth.yml is the limit.',
  },
  'api-answer-too-large': {
    what: 'The answer of the API server was larger than 4 MiB and was dropped.',
    why: 'The namespace has very many objects, or the address leads to another server.',
    next: 'Check the address, and count: `kubectl get rolebindings -n NAMESPACE | wc -l`.',
  },
  'api-answer-invalid': {
    what: 'The answer was not the JSON object that an API server sends.',
    why: 'A proxy, a login page or a load balancer answers instead of the API server.',
    next: 'On this host: `curl -k https://HOST:PORT/version`, with the address in the message, must print JSON.',
  },
  'api-list-too-long': {
    what: 'A list did not end after 200000 objects and was abandoned.',
    why: 'Something creates objects without limit, or the address leads to another server.',
    next: 'Find the namespace with the most objects and limit it with a ResourceQuota.',
  },
  'api-unauthorized': {
    what: 'The API server did not accept the token (HTTP 401).',
    why: 'The token of the hook has expired because berth-token-rotate.timer is not enabled, or it was revoked with its ServiceAccount. For a token of a user, the issuer or audience of the API server differs from the configuration.',
    next: 'Run `berth token setup --cluster NAME --from ADMIN_KUBECONFIG`, and `systemctl enable --now berth-token-rotate.timer`.',
  },
  'api-forbidden': {
    what: 'The API server accepted the token but denied the request (HTTP 403). The message names the verb and the object.',
    why: 'Berth’s ClusterRoles on the cluster are older than this version or were changed, or an admission policy denied the object.',
    next: 'Run `kubectl apply -k /usr/lib/berth/share/etc/kubernetes` on the cluster. `berth doctor` lists each missing permission.',
  },
  'api-conflict': {
    what: 'An object was changed by another client at the same moment, three times in a row.',
    why: 'A controller or a policy engine writes the same object at each change.',
    next: 'The next login tries again. If the error persists, `kubectl get OBJECT -o yaml --show-managed-fields` shows which client writes it.',
  },
  'api-invalid': {
    what: 'The API server rejected an object as invalid (HTTP 422).',
    why: 'A value of the configuration that only the cluster can check, for example in `resource_quota`; the hint names the keys that the object comes from.',
    next: 'The message names the field. `berth doctor` repeats the check for all objects (`objects`).',
  },
  'api-immutable': {
    what: 'An object exists with a field that Kubernetes does not allow to change, such as the role of a RoleBinding.',
    why: 'Another tool or an older setup created an object of the same name.',
    next: 'Delete the object with the command in the hint. The next login creates it again.',
  },
  'api-quota-exceeded': {
    what: 'An object could not be created: it would exceed the ResourceQuota of the namespace.',
    why: 'The quota does not leave room for the Secret, ServiceAccount or RoleBindings that Berth needs.',
    next: 'Run `kubectl describe quota -n NAMESPACE` and raise it (`resource_quota.hard` in berth.yml if Berth writes it).',
  },
  'api-overloaded': {
    what: 'The API server refused the request because of load (HTTP 429; for a watch also 5xx).',
    why: 'Many clients at the same time, or a client that polls in a loop.',
    next: 'Check the API server’s metrics for API Priority and Fairness. The next login tries again.',
  },
  'api-server-error': {
    what: 'The API server failed (HTTP 5xx).',
    why: 'etcd is unavailable, an admission webhook with failurePolicy Fail does not answer, or the API server has just started.',
    next: 'Check the log of the API server for this time. The next login tries again.',
  },
  'api-unexpected': {
    what: 'The API server responded with an HTTP status that Berth does not expect. The message contains it.',
    why: 'HTTP 404: a namespace, ServiceAccount or API that does not exist on this cluster. Other values usually come from a proxy.',
    next: 'Check that the manifests are applied: `kubectl apply -k /usr/lib/berth/share/etc/kubernetes`. Then run `berth doctor`.',
  },
  'api-watch-refused': {
    what: 'The API server did not let the session watch its pod.',
    why: 'The ClusterRole berth-session is missing or has another version.',
    next: 'Run `kubectl apply -k /usr/lib/berth/share/etc/kubernetes/ssh-sessions`.',
  },
  'cluster-skipped': {
    what: 'One or more clusters were not contacted, because another login could not reach them less than 30 seconds ago.',
    why: 'The cluster is unreachable. Without this pause, each login would wait for the full time limit.',
    next: 'Look for the error of the earlier login: `journalctl -t berth | grep api-`. `berth doctor` contacts the clusters immediately.',
  },
  'namespace-owned-by-another-user': {
    what: 'The namespace of this user already belongs to another user. Nothing in it was changed.',
    why: 'Two account names give the same namespace, for example `a.b` and `a-b`; or an account was renamed.',
    next: 'Give one of them another account name. After renaming an account: `kubectl annotate --overwrite namespace NAMESPACE openondemand.org/owner=NEW-NAME`.',
  },
  'namespace-owner-unknown': {
    what: 'A namespace of this name exists, but nothing shows that it was created for this user. Nothing in it was changed.',
    why: 'An admin or another tool created it, or the user was created with the name of an existing namespace.',
    next: 'If it is for this user, run the `kubectl annotate` command in the hint. Otherwise change `namespace_prefix`.',
  },
  'namespace-terminating': {
    what: 'The namespace of the user is being deleted and still existed when the time limit was reached.',
    why: 'A reaper or an admin deleted it, and a finalizer or a large number of pods delays its deletion.',
    next: 'Look at the conditions with the command in the hint. The next login creates the namespace again.',
  },
  'namespace-missing': {
    what: 'A ServiceAccount token was requested for a namespace that does not exist.',
    why: '`set-k8s-creds` ran without `k8s-bootstrap` before it, or the bootstrap failed: its error is in an earlier log line.',
    next: 'Let the user choose Help > Restart Web Server, and look at the first error of that login.',
  },
  'not-in-cluster': {
    what: '`--in-cluster` was used outside of a pod.',
    why: 'The files of a ServiceAccount or the variable KUBERNETES_SERVICE_HOST are missing. In a pod: `automountServiceAccountToken` is false.',
    next: 'Use `--cluster NAME`, or run the command in the CronJob of /usr/lib/berth/share/etc/kubernetes/reaper or ldap-sync.',
  },
  'admin-kubeconfig-invalid': {
    what: 'The kubeconfig of the hook cannot be used: an entry is missing, or it has neither a token nor a client certificate.',
    why: 'It was edited by hand, or it is the kubeconfig of another tool.',
    next: 'Run `kubectl get ns --kubeconfig FILE` as root. `berth token setup --cluster NAME --from ADMIN_KUBECONFIG` writes correct entries.',
  },
  'admin-kubeconfig-context': {
    what: 'No context in the kubeconfig has the cluster’s address, or several have it and the wrong one would be used.',
    why: 'The address in clusters.d and in the kubeconfig differ (name and IP address, another port), or the named context does not exist.',
    next: 'Name the context in berth.yml: `admin.context` below `clusters.NAME`. `kubectl config get-contexts --kubeconfig FILE` lists them.',
  },
  'admin-kubeconfig-unsupported': {
    what: 'The kubeconfig uses something that the hook cannot use at a login: an exec plugin, a password, an auth-provider, a proxy or a reference to a file.',
    why: 'It is an admin’s own kubeconfig, written by a cloud provider’s tool or for kubelogin.',
    next: 'Give the hook its own token. With such a kubeconfig, kubectl requests it: `kubectl -n ondemand create token berth-hook --duration 24h | berth token setup --cluster NAME`.',
  },
  'kubeconfig-plugin-failed': {
    what: 'The exec plugin of a kubeconfig gave no credential.',
    why: 'It is not installed, its session has expired, it needs a terminal or a browser, or it took too long.',
    next: 'Run `kubectl --kubeconfig FILE auth whoami` as root, and log in if the plugin asks you to.',
  },
  'hook-token-missing': {
    what: 'The kubeconfig has no token of the hook for this cluster, which `admin.cluster_api` manages.',
    why: '`berth token setup` was not run for the cluster, or the file was replaced.',
    next: 'Run `berth token setup --cluster NAME`, and `systemctl enable --now berth-token-rotate.timer`.',
  },
  'hook-token-ends-soon': {
    what: 'The hook’s token expires soon. After that, logins cannot access the cluster.',
    why: 'berth-token-rotate.timer is not enabled, or its last runs failed.',
    next: 'Run `berth token rotate`, then `systemctl status berth-token-rotate.timer` and `journalctl -u berth-token-rotate`.',
  },
  'hook-token-expired': {
    what: 'The hook’s token has expired. `berth token rotate` cannot renew an expired token.',
    why: 'berth-token-rotate.timer was not enabled, or this host was switched off for longer than the token lasts.',
    next: 'Run `berth token setup --cluster NAME --from ADMIN_KUBECONFIG`, and enable the timer.',
  },
  'hook-token-not-in-kubeconfig': {
    what: '`berth token rotate` found no token to renew: the user entry has a client certificate or a token file.',
    why: 'The kubeconfig was not written by `berth token setup`.',
    next: 'Run `berth token setup --cluster NAME --from FILE` once.',
  },
  'hook-token-account-unknown': {
    what: '`berth token rotate` cannot tell which ServiceAccount the current token belongs to.',
    why: 'It is an opaque token, or a user’s token instead of a ServiceAccount’s.',
    next: 'Name the account: `--service-account ondemand/berth-hook`.',
  },
  'hook-token-rejected': {
    what: 'The API server issued a new token but did not accept it afterwards. Nothing was written.',
    why: 'Several API servers behind one address have different settings or signing keys.',
    next: 'Compare --service-account-issuer, --service-account-key-file and --api-audiences of all API servers.',
  },
  'hook-token-entry-shared': {
    what: 'Two clusters use the same user entry of the kubeconfig, but a token is valid for one of them only.',
    why: 'The kubeconfig was merged by hand.',
    next: 'Run `berth token setup --cluster NAME --from ADMIN_KUBECONFIG` for each: it writes separate entries.',
  },
} as const satisfies CatalogueEntries;
