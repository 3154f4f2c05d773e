import { conformanceOfBerth } from '../../conformance/sessions.ts';

conformanceOfBerth('forced', 0);
