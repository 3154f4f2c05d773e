import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { secondsByFile } from './run-times.ts';

/** Starts with the files that took longest in the run of test/times.md, so that workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = await secondsByFile();
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      seconds.get(relative(this.ctx.config.root, moduleId)) ?? 0;
    const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort(
      (one, other) => groupOf(one) - groupOf(other) || secondsOf(other) - secondsOf(one),
    );
  }
}
