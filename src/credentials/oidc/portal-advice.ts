/**
 * What a user can do for new credentials. The hook runs only when a user's nginx starts: who is logged in, or
 * logs in again while it runs, gets none.
 */
export const restartWebServer = 'In the portal choose Help > Restart Web Server';

/** Where the session at the identity provider is over, the portal would hand over its tokens again. */
export const logInAnew =
  'Log out of the portal (or close the browser), log in again, then choose Help > Restart Web Server';
