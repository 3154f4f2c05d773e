/** An RFC 1123 subdomain: what the names of most Kubernetes objects must be, such as those of Secrets. */
export function isObjectName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(name);
}
