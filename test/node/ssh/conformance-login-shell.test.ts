import { berthConformance } from '../../conformance/sessions.ts';

berthConformance('login-shell', 1);
