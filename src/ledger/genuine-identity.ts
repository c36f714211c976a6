import { unknownDigest } from '../workflows/contract.js';

const columns = ['source', 'event_id', 'type', 'digest', 'input', 'received_at'];

const replaced = `e.digest = '${unknownDigest}' OR (e.state = 'ignored' AND EXCLUDED.digest <> '${unknownDigest}')`;

/**
 * Assignments of an upsert of `events AS e`: what a run with a malformed input left is no record, nor is what was kept of an
 * event that no effect wanted, and the first genuine run takes its place; a genuine record stands.
 */
export const genuineIdentity = columns
  .map((column) => `${column} = CASE WHEN ${replaced} THEN EXCLUDED.${column} ELSE e.${column} END`)
  .join(', ');
