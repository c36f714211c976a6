import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that mostly wait, for timeouts that are not theirs to shorten; begun last, they would end alone. */
const slow = [
  'cli/replay-many',
  'operations/adopt/',
  'hazards/hazard-18-',
  'cli/dev.live',
  'package/',
  'docs/testing.live',
  'testing/',
  'hazards/crash-local-write',
  'cli/worker.live',
  'hazards/hazard-07-',
  'cli/replay.live',
  'runtime/embedded/',
  'workflows/budget',
  'hazards/hazard-19-',
];

/** Begins with the files that take longest, so that the others fill the time that those spend waiting. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = slow.findIndex((part) => moduleId.includes(`/test/${part}`));
      return found === -1 ? slow.length : found;
    };
    return (await super.sort(files)).sort((left, right) => rank(left) - rank(right));
  }
}
