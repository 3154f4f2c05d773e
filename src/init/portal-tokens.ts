/** What becomes the credential: the result of a token exchange, or one of the portal's own tokens. */
export const portalTokens = ['exchange', 'access', 'id'] as const;

export type PortalToken = (typeof portalTokens)[number];
