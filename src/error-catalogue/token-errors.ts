import type { CatalogueEntries } from './entry.ts';

/** Tokens of a login, and the identity provider that issues them. */
export const tokenErrors = {
  'token-missing': {
    what: 'OnDemand did not pass the token that `credentials.token` selects to the hook.',
    why: '`pun_pre_hook_exports` does not name the variable, `OIDCPassIDTokenAs: serialized` is missing, or `update_ood_portal` was not run or Apache was not restarted.',
    next: 'Correct /etc/ood/config/ood_portal.yml as the hint says, run `update_ood_portal`, restart Apache, and log in again.',
  },
  'token-malformed': {
    what: 'The token is not a signed JWT, or its times are not numbers.',
    why: 'The identity provider issues opaque or encrypted tokens, or a variable that is not a token is exported.',
    next: 'Check `pun_pre_hook_exports`, and let the identity provider issue JWTs for this client.',
  },
  'token-too-large': {
    what: 'The token is larger than 64 KiB.',
    why: 'The user is in hundreds of groups, and all of them are in the token.',
    next: 'Limit the groups claim at the identity provider to those that the cluster needs.',
  },
  'token-algorithm': {
    what: 'The signature algorithm of the token is not accepted, or does not fit the key of the issuer.',
    why: 'HS256 and HS512 are not accepted: Keycloak signs refresh tokens with them, so a refresh token was probably passed to the hook. Or a key of the issuer is too short or damaged.',
    next: 'Check `pun_pre_hook_exports`. Set the client at the identity provider to RS256 or ES256.',
  },
  'token-key-unknown': {
    what: 'The token is signed with a key that the issuer does not publish.',
    why: 'The token is from another realm, or the keys were rotated moments ago.',
    next: 'Compare the `kid` in the message with the document at the jwks_uri of the issuer. Then log out of the portal and log in again.',
  },
  'token-signature': {
    what: 'The signature of the token does not match the key of the issuer.',
    why: 'The token was modified in transit or is forged, a second realm uses the same key ID, or a key was replaced under its old ID in the last ten seconds.',
    next: 'Find out where the token comes from. If only one user gets this error, it may be an attack.',
  },
  'token-type': {
    what: 'The token is an ID token where an access token is configured, or the reverse.',
    why: '`credentials.token` does not match the exported variable.',
    next: 'Set `credentials.token` in berth.yml to `id` or `access`.',
  },
  'token-issuer': {
    what: 'The token was issued by another identity provider than the configured one.',
    why: 'The address of the issuer differs in host name, port, realm or trailing slash. The comparison is exact.',
    next: 'Copy `issuer` from .well-known/openid-configuration into IDP_ISSUER_URL of hook.env, or into `credentials.issuer`.',
  },
  'token-audience': {
    what: 'The token is not meant for this cluster: its audience (`aud`) lacks the configured one.',
    why: 'The client at the identity provider has no audience mapper, or the cluster needs a token exchange.',
    next: 'Add an audience mapper for `credentials.audience`, or set `credentials.exchange`: "Audience mapper with Keycloak" or "Token exchange with Keycloak" in /usr/lib/berth/share/docs/configuration.md.',
  },
  'token-authorized-party': {
    what: 'The token was issued to another client (`azp`) than the portal’s.',
    why: 'CLIENT_ID of hook.env and OIDCClientID of OnDemand differ.',
    next: 'Set both to the same client ID.',
  },
  'token-expired': {
    what: 'The token of the login has expired and could not be renewed.',
    why: 'The session at the identity provider has ended, but the portal still has the old tokens. A wrong clock on this host has the same effect.',
    next: 'The user logs out of the portal and logs in again. Check the clock: `chronyc tracking`.',
  },
  'token-not-yet-valid': {
    what: 'The token is not valid yet (`nbf` or `iat` is in the future).',
    why: 'The clock of this host is behind the clock of the identity provider.',
    next: 'Check `chronyc tracking` on both. `credentials.clock_skew` is the difference that is accepted.',
  },
  'token-of-another-user': {
    what: 'The token belongs to another user than the one who logs in, has no user name claim, or has an unverified email address. No credential was written.',
    why: '`credentials.username_claim` is not the claim from which OnDemand takes the name, or user_map changes the name.',
    next: 'Compare OIDCRemoteUserClaim of OnDemand, --oidc-username-claim of the API server and `credentials.username_claim`.',
  },
  'issuer-unreachable': {
    what: 'No connection to the identity provider could be established.',
    why: 'It is down, its name does not resolve on this host, or a firewall blocks it. Berth uses no HTTP proxy.',
    next: 'On this host: `curl -v ISSUER/.well-known/openid-configuration`. The next login tries again.',
  },
  'issuer-timeout': {
    what: 'The identity provider did not answer in time.',
    why: 'It is overloaded, or a firewall drops packets.',
    next: 'Measure with `time curl ISSUER/.well-known/openid-configuration`. The next login tries again.',
  },
  'issuer-skipped': {
    what: 'The identity provider was skipped: it did not answer another login less than 10 seconds ago.',
    why: 'It is overloaded, or a firewall drops packets. Without this pause, each login would wait for 5 seconds.',
    next: 'Look for the error of the earlier login: `journalctl -t berth | grep issuer-`. `berth doctor` asks the provider immediately.',
  },
  'issuer-certificate': {
    what: 'The certificate of the identity provider was not accepted.',
    why: 'It was signed by a certificate authority of the site that this host does not trust, or it has expired.',
    next: 'Set `credentials.ca_file` in berth.yml to the PEM file of that authority.',
  },
  'issuer-url-not-https': {
    what: 'The address of the identity provider, or one in its discovery document, is not https.',
    why: 'A test setup, or a provider behind a proxy that does not know its external address.',
    next: 'Install a TLS certificate on the provider. For Keycloak behind a proxy, set its options `hostname` and `proxy-headers`.',
  },
  'issuer-answer-invalid': {
    what: 'The identity provider answered, but not as OpenID Connect requires.',
    why: 'The address belongs to a login page, a proxy or another realm, or the body is too large or not JSON.',
    next: 'Fetch the address in the message with curl. The realm in the path must exist.',
  },
  'issuer-unavailable': {
    what: 'The identity provider failed (HTTP 5xx) or is rate limiting requests (HTTP 429).',
    why: 'It is restarting, its database is down, or many users are logging in at once.',
    next: 'Check its log for this time. The next login tries again.',
  },
  'issuer-mismatch': {
    what: 'The `issuer` in the discovery document is not the configured issuer.',
    why: 'The configured address is an alias or lacks a trailing slash.',
    next: 'Use exactly the `issuer` of .well-known/openid-configuration.',
  },
  'issuer-no-keys': {
    what: 'The identity provider publishes no public key with which a token could be checked.',
    why: 'The realm has only symmetric keys or encryption keys.',
    next: 'Enable an RSA or EC signing key in the realm.',
  },
  'issuer-cache-not-written': {
    what: 'The keys of the issuer could not be stored. The login worked, but the next one has to fetch them again.',
    why: 'The state directory is full or read-only.',
    next: 'Check `state_dir` of berth.yml (/var/lib/berth): `df`, `namei -l`.',
  },
  'issuer-client-refused': {
    what: 'The identity provider did not accept the client or its secret, or the client is not authorized for this request.',
    why: 'The secret or key was replaced at the provider, CLIENT_ID is misspelled, or token exchange is not enabled for the client.',
    next: 'Compare CLIENT_ID and CLIENT_SECRET of hook.env (or `credentials.client_auth_method` and its files) with the client at the provider.',
  },
  'issuer-request-refused': {
    what: 'The identity provider refused a token request. The message contains the provider’s error.',
    why: 'The token exchange lacks a setting: it is not enabled, the portal’s client is not in the audience of its own token, or a scope is missing.',
    next: 'Look at the event log of the provider for this client, and compare with "Token exchange with Keycloak" in /usr/lib/berth/share/docs/configuration.md.',
  },
  'refresh-token-refused': {
    what: 'The identity provider did not accept the refresh token (invalid_grant), so the credential cannot be renewed.',
    why: 'The user logged out, the session reached its idle or maximum time, or the refresh token was single-use and something else has already used it.',
    next: 'The user logs out of the portal and logs in again. If it happens to many users, see "Renewal" in /usr/lib/berth/share/docs/configuration.md.',
  },
  'refresh-token-missing': {
    what: 'The portal gave no refresh token. kubectl works only until the current token expires, often after five minutes.',
    why: '`OIDCPassRefreshToken: On` or OIDC_REFRESH_TOKEN in `pun_pre_hook_exports` is missing, or the provider issues none.',
    next: 'Add both to /etc/ood/config/ood_portal.yml, run `update_ood_portal` and restart Apache.',
  },
  'refresh-needed': {
    what: 'The login’s token had already expired and is renewed before use. This code is internal and normally not logged.',
    why: 'The user’s web server started long after the login.',
    next: 'If it is in the log, report it as a defect.',
  },
} as const satisfies CatalogueEntries;
