import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { renderManifests } from '../../../src/cli/render/objects.ts';
import { siteAdmission } from '../../../src/kube/admission/admission-settings.ts';
import { admissionManifests } from '../../../src/kube/admission/render-admission.ts';
import { hasMutatingPolicies } from '../../rig/site/kubernetes/versions.ts';
import { openSite } from '../../rig/site/site.ts';

const directory = new URL('../../../etc/kubernetes/admission/', import.meta.url).pathname;

describe('etc/kubernetes/admission', () => {
  it('is what `berth render policies` prints', async () => {
    const file = await readFile(`${directory}policies.yaml`, 'utf8');
    const [, , ...lines] = file.split('\n');

    expect(lines.join('\n')).toBe(
      renderManifests(admissionManifests('kubernetes', siteAdmission())),
    );
  });

  it('is accepted by the API server, unchanged or rendered for its version', async () => {
    const site = await openSite();
    const nothingFilledIn = !hasMutatingPolicies(site.record.kubernetesMinor);
    const made = nothingFilledIn
      ? renderManifests(
          admissionManifests('kubernetes', siteAdmission(undefined, { nothingFilledIn })),
        )
      : (await site.kubectl(['kustomize', directory])).stdout;
    // The namespace of the probe is not there in a dry run, and what is in it cannot be tried.
    const objects = made
      .split('\n---\n')
      .filter((one) => !one.includes('namespace: berth-admission-probe'));

    const tried = await site.kubectl(['create', '--dry-run=server', '-f', '-'], {
      input: objects.join('\n---\n'),
    });

    expect(
      tried.stderr
        .split('\n')
        .filter((line) => !line.includes('already exists'))
        .join(''),
    ).toBe('');
  });
});
