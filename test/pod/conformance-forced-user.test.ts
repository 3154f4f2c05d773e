import { conformanceOfPods } from './conformance.ts';

conformanceOfPods('forced', 'user');
