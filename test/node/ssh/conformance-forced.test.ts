import { berthConformance } from '../../conformance/sessions.ts';

berthConformance('forced', 0);
