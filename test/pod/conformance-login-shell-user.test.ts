import { conformanceOfPods } from './conformance.ts';

conformanceOfPods('login-shell', 'user');
