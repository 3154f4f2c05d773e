import { execa } from 'execa';
import { expect, it } from 'vitest';
import { hubEnvironment, hubPackage } from '../../rig/jupyterhub/hub-environment.ts';
import { python } from '../../rig/python-environment.ts';

const run = async (...args: string[]): Promise<void> => {
  const { exitCode, all } = await execa(python, args, {
    cwd: hubPackage,
    env: { PYTHONPATH: await hubEnvironment(), PYTHONDONTWRITEBYTECODE: '1' },
    ...{ reject: false, all: true },
  });
  expect(exitCode, all).toBe(0);
};

it('the hub’s package passes its own tests', () =>
  run('-m', 'pytest', '-q', '-p', 'no:cacheprovider'));

it('the hub’s package has correct types', () =>
  run('-m', 'mypy', '--cache-dir=/dev/null', 'berth_jupyterhub', 'berth_dask.py', 'tests'));
