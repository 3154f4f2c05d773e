import { clusterCheckTexts } from './cluster-check-texts.ts';
import { loginNodeCheckTexts } from './login-node-check-texts.ts';
import { portalCheckTexts } from './portal-check-texts.ts';

/** All checks by their names, as `berth doctor` prints them. */
export const checkTexts = { ...portalCheckTexts, ...clusterCheckTexts, ...loginNodeCheckTexts };

export type CheckId = keyof typeof checkTexts;
