import { BerthError } from '../../../../src/system/errors/berth-error.ts';

/** @returns the error with which `act` refuses what it is given */
export function refusal(act: () => unknown): BerthError {
  try {
    act();
  } catch (error) {
    if (error instanceof BerthError) return error;
    throw error;
  }
  throw new Error('accepted');
}
