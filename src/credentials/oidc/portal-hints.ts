/**
 * How a user gets new credentials. The hook runs only when the user's nginx starts, so a new login alone does
 * not run it.
 */
export const restartWebServer = 'In the portal choose Help > Restart Web Server';

/** After the end of the session at the identity provider, the portal would pass the old tokens again. */
export const logInAgain =
  'Log out of the portal (or close the browser), log in again, then choose Help > Restart Web Server';
