/** What an admin does with the repository. */
export function readme(clusters: readonly string[], gitops: 'flux' | 'argo-cd'): string {
  const [first = 'prod'] = clusters;
  return `# Berth on our clusters

| directory          | what                                                                               |
| ------------------ | ---------------------------------------------------------------------------------- |
| \`berth\`            | Berth's components, written by \`berth render site\`                               |
| \`clusters/*/berth\` | the components of a cluster, written by \`berth render site\`                      |
| \`clusters/*\`       | yours: Secrets, and what differs on that cluster                                   |
| \`${gitops}\`${' '.repeat(17 - gitops.length)}| what makes ${gitops === 'flux' ? 'Flux' : 'Argo CD'} follow this repository: apply the file of a cluster there once${' '.repeat(gitops === 'flux' ? 4 : 1)} |

To see what a cluster gets: \`kubectl kustomize clusters/${first}\`

After an update of Berth, or a change of its configuration, run the same \`berth render site\` again and look at
\`git diff\`. Files that are yours stay as they are.

${gitops === 'flux' ? sopsText(first) : argoText}`;
}

const sopsText = (cluster: string): string => `## Secrets

No Secret is here in plain text. Put the public key of your age or GPG key into \`.sops.yaml\`, then:

1. Write the Secret to \`clusters/${cluster}/registry.sops.yaml\`.
2. \`sops encrypt --in-place clusters/${cluster}/registry.sops.yaml\`
3. Add \`registry.sops.yaml\` to \`resources\` in \`clusters/${cluster}/kustomization.yaml\`.

The token of the portal's hook does not belong here: \`berth token setup\` makes it, and \`berth token rotate\` renews it.
`;

const argoText = `## Secrets

Argo CD decrypts nothing by itself: put no Secret here, but one of its plugins or an operator for secrets. The token of the
portal's hook does not belong here: \`berth token setup\` makes it, and \`berth token rotate\` renews it.
`;
