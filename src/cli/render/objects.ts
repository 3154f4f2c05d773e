import { Document, stringify, visit } from 'yaml';
import { type KubeObject, describeObject } from '../../kube/objects/kube-object.ts';
import { maskSecretValues } from '../../kube/plan-user.ts';

/**
 * YAML documents for kubectl. A Secret that is left out becomes a comment without its values.
 */
export function renderYaml(
  objects: readonly KubeObject[],
  hidden: readonly KubeObject[],
  cluster: string,
): string {
  const documents = objects.map((object) => stringify(object, { lineWidth: 0 }));
  const comments = hidden.map((object) => {
    const { after } = maskSecretValues(undefined, object);
    const lines = stringify(after, { lineWidth: 0 }).trimEnd().split('\n');
    return [
      `# ${describeObject(object)} is left out; --show-secrets prints it.`,
      ...lines.map((line) => `#   ${line}`),
      '',
    ].join('\n');
  });
  return `# cluster ${cluster}\n---\n${[...documents].join('---\n')}${comments.join('')}`;
}

/** YAML documents whose long lines are folded, for files that people read. */
export function renderManifests(manifests: readonly object[]): string {
  return manifests.map(folded).join('---\n');
}

/** Long CEL expressions are easier to read as folded blocks. */
function folded(manifest: object): string {
  const document = new Document(manifest);
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && node.value.length > 80) node.type = 'BLOCK_FOLDED';
    },
  });
  return document.toString({ lineWidth: 100 });
}

/** One JSON object for kubectl: a List. */
export function renderJson(objects: readonly object[]): string {
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
}
