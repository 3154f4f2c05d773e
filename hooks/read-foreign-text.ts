import { readFileSync, writeFileSync } from 'node:fs';
import { oidcArguments } from '../src/clusters/access/rules/oidc-arguments.ts';
import { kubeconfigValues } from '../src/credentials/kubeconfig/kubeconfig-document.ts';
import { setKubeconfigEntries } from '../src/credentials/kubeconfig/kubeconfig-edit.ts';
import { redactSecrets } from '../src/portal/redact-secrets.ts';
import { answerReadingRequest } from '../src/system/answer-reading-request.ts';

/** Started by `inReadingProcess`: one request on standard input, one answer on standard output. */
const readers = { setKubeconfigEntries, kubeconfigValues, redactSecrets, oidcArguments };

void answerReadingRequest(readFileSync(0, 'utf8'), readers).then((answer) =>
  writeFileSync(1, answer),
);
