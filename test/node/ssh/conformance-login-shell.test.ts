import { conformanceOfBerth } from '../../conformance/sessions.ts';

conformanceOfBerth('login-shell', 1);
