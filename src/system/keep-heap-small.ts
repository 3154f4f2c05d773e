import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 collect garbage when the heap has grown by 30 percent since the last time, instead of up to fourfold: for commands that
 * read all users of a site. With 20,000 namespaces, that is 80 MiB less for a quarter more processor time.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=30');
}
