/**
 * A type of `@kubernetes/client-node` as the API server sends and takes it: the library's classes hold
 * what its own deserializer makes of JSON, with `Date` for a time (RFC 3339) and `_from` for `from`.
 */
export type KubeJson<T> = T extends Date
  ? string
  : T extends readonly (infer Element)[]
    ? readonly KubeJson<Element>[]
    : T extends object
      ? { readonly [K in keyof T as K extends `_${infer Name}` ? Name : K]: KubeJson<T[K]> }
      : T;
