import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

/** The bundle as the build leaves it beside the compiled workflows. */
const built = fileURLToPath(new URL('../workflows/workflow-bundle.js', import.meta.url));

let bundling: Promise<WorkflowBundle> | undefined;

/**
 * The workflow code as the worker takes it: the bundle that the package ships, else, when run from sources, one that is
 * made once per process. It holds none of the user's code.
 */
export async function workflowSource(): Promise<{ readonly codePath: string } | WorkflowBundle> {
  if (existsSync(built)) return { codePath: built };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  bundling ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url)),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
  });
  return bundling;
}
