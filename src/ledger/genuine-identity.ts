import { unknownDigest } from '../workflows/contract.js';

const columns = ['source', 'event_id', 'type', 'digest', 'input', 'received_at'];

/**
 * Assignments of an upsert of `events AS e`: what a run with a malformed input left is no record, and the first genuine
 * run takes its place; a genuine record stands.
 */
export const genuineIdentity = columns
  .map((column) => `${column} = CASE WHEN e.digest = '${unknownDigest}' THEN EXCLUDED.${column} ELSE e.${column} END`)
  .join(', ');
