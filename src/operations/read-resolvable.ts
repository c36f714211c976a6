import { OnefoldError } from '../errors.js';
import type { Sql } from '../ledger/database.js';
import { type ClaimIdentity, type ClaimRecord, readClaim } from '../ledger/read-claim.js';
import type { OperationsContext } from './context.js';

/**
 * Reads a claim that a person may speak about: one whose outcome is unknown, and that nobody is attempting. A result that
 * is known without its commit may be corrected, since a person may have given it.
 *
 * @param name The effect's name, for messages.
 * @throws {OnefoldError} `claim_unknown` where it was never begun; `resolve_refused` when it is done, when an attempt is
 * under way, and when it is known that nothing was done.
 */
export async function readResolvable(
  { ledger }: OperationsContext,
  sql: Sql,
  name: string,
  identity: ClaimIdentity,
): Promise<ClaimRecord> {
  const key = JSON.stringify(identity.businessKey);
  const claim = await readClaim(sql, ledger.schema, identity);
  if (!claim) {
    const whose = identity.tenant === '' ? '' : ` of tenant ${JSON.stringify(identity.tenant)}`;
    throw new OnefoldError('claim_unknown', `the ledger has no claim of '${name}' under ${key}${whose}`);
  }
  if (claim.state === 'done') throw refused(name, key, `is done, by ${claim.event}: done is final`);
  if (claim.leaseRunning) {
    const until = claim.leaseUntil?.toISOString();
    throw refused(name, key, `is being attempted for ${claim.event}, with a lease until ${until}: wait for its end`);
  }
  if (claim.state === 'released') {
    throw refused(name, key, 'has not happened, for certain: nothing is unknown, and the next attempt performs it');
  }
  return claim;
}

function refused(name: string, key: string, why: string): OnefoldError {
  return new OnefoldError('resolve_refused', `'${name}' under ${key} ${why}`);
}
