import { berthConformance } from '../../conformance/berth-suite.ts';

berthConformance('forced', 0);
