import * as z from 'zod/mini';
import { matching } from '../schema-parts.ts';

/** `512M` or `8G`, as bytes. */
export const size = z
  .pipe(
    matching(/^[1-9][0-9]{0,6}[KMGT](?:i?B)?$/, 'must be a size such as 512M or 8G'),
    z.transform(
      (text) => parseInt(text, 10) * 1024 ** ('KMGT'.indexOf(text.replace(/[^KMGT]/g, '')) + 1),
    ),
  )
  .check(z.refine((bytes) => bytes <= 1024 ** 5, 'must be 1024T or less'));
/** A number of CPUs. */
export const cpus = z.custom<number>(
  (value) => typeof value === 'number' && value >= 0.01 && value <= 4096,
  'must be a number of CPUs such as 4 or 0.5',
);
