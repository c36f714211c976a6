import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkflowBundle } from '@temporalio/worker';

/** The bundle as the build leaves it beside the compiled workflows. */
const built = fileURLToPath(new URL('../workflows/workflow-bundle.js', import.meta.url));

let fromSources: Promise<{ readonly codePath: string } | WorkflowBundle> | undefined;

/**
 * The workflow code as the worker takes it: the bundle that the package ships, else, when run from sources, one that is
 * made once per version of them. It holds none of the user's code.
 */
export async function workflowSource(): Promise<{ readonly codePath: string } | WorkflowBundle> {
  if (existsSync(built)) return { codePath: built };
  fromSources ??= import('./bundle-sources.js').then(({ bundleSources }) => bundleSources());
  return fromSources;
}
