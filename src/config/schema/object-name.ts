/** The rules for names and labels of Kubernetes objects: apimachinery, `pkg/util/validation/validation.go`. */

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(?:\\.${label})*`;
const part = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';

/** An RFC 1123 subdomain: what the names of most Kubernetes objects must be, such as those of Secrets. */
export const objectName = new RegExp(`^(?=.{1,253}$)${subdomain}$`);
/** An RFC 1123 label: the name of a namespace. */
export const namespaceName = new RegExp(`^(?=.{1,63}$)${label}$`);
/** The key of a label or a taint, or the name of a resource: `gpu`, `example.org/gpu`. */
export const qualifiedName = new RegExp(`^(?:(?=[^/]{1,253}/)${subdomain}/)?${part}$`);
/** The value of a label. */
export const labelValue = new RegExp(`^(?:${part})?$`);

export function isObjectName(name: string): boolean {
  return objectName.test(name);
}

/** Whether the names of namespaces can begin with it: at least one character follows. */
export function isNamespacePrefix(prefix: string): boolean {
  return prefix === '' || namespaceName.test(`${prefix}x`);
}

/** After `is`, in an error. */
export function notAPrefix(prefix: string): string {
  return `${JSON.stringify(prefix.slice(0, 80))}, with which no name of a namespace can begin`;
}

/** A resource of a device plugin, `nvidia.com/gpu`: it must be a name with `requests.` before it as well. */
export function isExtendedResource(name: string): boolean {
  return (
    name.includes('/') &&
    !name.includes('kubernetes.io/') &&
    !name.startsWith('requests.') &&
    qualifiedName.test(`requests.${name}`)
  );
}
