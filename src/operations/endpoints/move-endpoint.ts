import { OnefoldError } from '../../errors.js';
import type { EndpointRef, EndpointRow } from '../../ledger/endpoints/endpoint-row.js';
import { setEndpointReason } from '../../ledger/endpoints/set-endpoint-reason.js';
import { setEndpointState } from '../../ledger/endpoints/set-endpoint-state.js';
import type { Endpoint } from '../../publisher/endpoint.js';
import { changeEndpoint, readAct } from './change-endpoint.js';
import type { EndpointAct, EndpointsDependencies } from './endpoints-dependencies.js';

/** What a person does about what an endpoint takes. */
export type Move = 'pause' | 'resume' | 'disable' | 'enable';

/**
 * Where each move leads from each state: to a state, nowhere since it is there already, or to a refusal, whose sentence
 * names the move that was meant.
 *
 * | | enabled | paused | disabled |
 * |---|---|---|---|
 * | pause | paused | stays | refused |
 * | resume | stays | enabled | refused |
 * | disable | disabled | disabled | stays |
 * | enable | stays | refused | enabled |
 */
const moves = {
  pause: { to: 'paused', event: 'endpoint.paused', refusedFrom: 'disabled', because: 'it takes nothing already' },
  resume: { to: 'enabled', event: 'endpoint.resumed', refusedFrom: 'disabled', because: 'enable it' },
  disable: { to: 'disabled', event: 'endpoint.disabled', refusedFrom: undefined, because: '' },
  enable: { to: 'enabled', event: 'endpoint.enabled', refusedFrom: 'paused', because: 'resume it' },
} as const;

/**
 * Pauses, resumes, disables or enables an endpoint. While it is paused or disabled its deliveries are held: they wait, and
 * spend no attempt, until it is enabled or their elapsed time is over. Enabled or resumed, it begins with a clean bill of
 * health. Repeating a move is harmless; another reason for what its owner holds already replaces the one before. Each move is
 * recorded as an act.
 *
 * @throws {OnefoldError} `endpoint_disabled` for pausing or resuming a disabled endpoint, `endpoint_paused` for enabling a
 * paused one, `endpoint_unknown`, `endpoint_removed`, `endpoint_invalid`, `identity_invalid`, `ledger_unavailable`,
 * `migration_missing`.
 */
export async function moveEndpoint(
  deps: Pick<EndpointsDependencies, 'ledger' | 'log'>,
  ref: EndpointRef,
  move: Move,
  act: EndpointAct = {},
): Promise<Endpoint> {
  const { to, event, refusedFrom, because } = moves[move];
  const { schema } = deps.ledger;
  return changeEndpoint(deps, ref, act, {
    event,
    recordedAs: move,
    async change(sql, before) {
      const { reason } = readAct(act);
      if (before.state === to) {
        const isOwners = before.stateCode === 'by_owner' && reason !== undefined && reason !== before.stateReason;
        return isOwners ? setEndpointReason(sql, schema, ref, reason) : before;
      }
      if (before.state === refusedFrom) throw refused(before, move, because);
      return setEndpointState(sql, schema, ref, { state: to, reason: reason ?? null });
    },
  });
}

function refused({ id, state, stateReason }: EndpointRow, move: Move, because: string): OnefoldError {
  const reason = stateReason ? ` (${stateReason})` : '';
  return new OnefoldError(
    state === 'paused' ? 'endpoint_paused' : 'endpoint_disabled',
    `the endpoint ${id} is ${state}${reason}, so there is nothing to ${move}: ${because}`,
  );
}
