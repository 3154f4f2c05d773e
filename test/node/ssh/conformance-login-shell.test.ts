import { berthConformance } from '../../conformance/berth-suite.ts';

berthConformance('login-shell', 1);
