import { conformanceOfPods } from './conformance.ts';

conformanceOfPods('forced', 'connection');
