import type { Ledger } from '../../ledger/ledger.js';
import type { EgressRules } from '../../runtime/egress-rules.js';
import type { Logger } from '../../runtime/logger.js';
import type { Sealer } from '../../runtime/seal.js';

/** What the management of endpoints stands on. */
export interface EndpointsDependencies {
  readonly ledger: Ledger;
  readonly sealer: Sealer;
  /** What may be sent to beyond public addresses, and by whom. */
  readonly egressRules: EgressRules;
  readonly log: Pick<Logger, 'info'>;
}

/** Who changes an endpoint, and why. Both go into the log line of the change, and of a move into the acts. */
export interface EndpointAct {
  readonly by?: string;
  /** Identity of a move: the same id again is the same move, and changes nothing. Default: a new one. */
  readonly id?: string;
  /** Of a pause, a disabling or a removal it is kept with the endpoint as well; at most 500 characters are. */
  readonly reason?: string;
}
