import { conformanceOfPods } from './conformance.ts';

conformanceOfPods('forced', 2);
