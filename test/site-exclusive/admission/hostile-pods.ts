import { hostileEndings } from './hostile-endings.ts';
import { hostileExtras } from './hostile-extras.ts';
import { hostileIdentity } from './hostile-identity.ts';
import { hostilePlacement } from './hostile-placement.ts';
import { hostilePrivilege } from './hostile-privilege.ts';
import { hostileVolumes } from './hostile-volumes.ts';
import type { HostileObject } from './hostile.ts';

/** Every pod that a user may not create. */
export const hostilePods: readonly HostileObject[] = [
  ...hostileIdentity,
  ...hostilePrivilege,
  ...hostileVolumes,
  ...hostileExtras,
  ...hostilePlacement,
  ...hostileEndings,
];
