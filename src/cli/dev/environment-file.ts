import { join } from 'node:path';

/** The file in a data folder that tells other terminals about its servers. */
export function environmentFile(folder: string): string {
  return join(folder, 'env');
}

/** What stands behind a line whose value `onefold dev` has made, and not been given. */
export const madeHere = ' # made by onefold dev';
