import { conformanceOfBerth } from './conformance/sessions.ts';

conformanceOfBerth('forced', 'user');
