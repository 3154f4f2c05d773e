/**
 * Resources that only components of the cluster and its admins write in users' namespaces, as `RESOURCE.GROUP`. Bindings
 * and tokens give access that outlasts the session and the account; the others are the site's limits, or take the traffic
 * or the nodes of others.
 */
export const reservedResources = [
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'serviceaccounts/token',
  'resourcequotas',
  'limitranges',
  'networkpolicies.networking.k8s.io',
  'ingresses.networking.k8s.io',
  'gateways.gateway.networking.k8s.io',
  'httproutes.gateway.networking.k8s.io',
  'grpcroutes.gateway.networking.k8s.io',
  'tlsroutes.gateway.networking.k8s.io',
  'tcproutes.gateway.networking.k8s.io',
  'udproutes.gateway.networking.k8s.io',
  'poddisruptionbudgets.policy',
] as const;
