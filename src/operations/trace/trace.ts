import type { TracedAct } from '../../ledger/trace/read-acts.js';
import type { TracedClaim } from '../../ledger/trace/read-claims.js';
import type { TracedDelivery } from '../../ledger/trace/read-deliveries.js';
import type { TracedLetter } from '../../ledger/trace/read-letters.js';
import type { TracedPause } from '../../ledger/trace/read-pauses.js';
import type { TracedSend } from '../../ledger/trace/read-sends.js';
import type { TracedSuperseded } from '../../ledger/trace/read-superseded.js';
import type { TracedRun } from './read-run.js';

/** What one may look at, and how far. */
export interface TraceOptions {
  /** Only this tenant, '' for none. Default: all are searched. */
  readonly tenant?: string;
  /** The name is the business key of this effect. */
  readonly effect?: string;
  /** False: only the ledger is asked. Default true. */
  readonly temporal?: boolean;
  /** Events of one business key that are traced, the newest, 1 to 50. Default 50. */
  readonly limit?: number;
}

/** What a name turned out to be. */
export type TracedKind = 'event' | 'business_key' | 'publication';

/** One of several things that a name may mean. */
export interface TraceChoice {
  readonly kind: TracedKind;
  readonly tenant: string;
  /** As `trace` takes it. */
  readonly name: string;
  /** Of a business key. */
  readonly effect?: string;
  /** Of an event or a publication, where it is known. */
  readonly state?: string;
  readonly at?: Date;
}

/** An effect of an event, and whether it is done. */
export interface TracedEffect {
  /** As the plan recorded it. */
  readonly effect: string;
  readonly businessKey: string;
  /** How it has ended for this event, by the ledger; undefined while it has not. */
  readonly outcome?: 'done' | 'already_done' | 'stale' | 'observed';
  readonly endedAt?: Date;
  /** The claim or completion of its business identity; undefined where nobody ever claimed it. */
  readonly claim?: TracedClaim;
  /** Whether the business effect is done, whoever did it. */
  readonly done: boolean;
  /** Which attempt did it, as far as it is known; only where it is done. */
  readonly doneBy?: DoneBy;
  /** Attempts for this event that the histories show, without those that only waited. Undefined where Temporal was not looked at or has forgotten it. */
  readonly attempts?: number;
}

/** The work behind a completion. */
export interface DoneBy {
  /** `source/event-id`. */
  readonly event: string;
  readonly eventKey: string;
  readonly runId?: string;
  /** Counted over the runs that continued as new. */
  readonly attempt?: number;
  /** Number of the delivery that started the run, counted from 1. */
  readonly delivery?: number;
  /** The act of the replay that started the run. */
  readonly replay?: { readonly id: string; readonly by: string };
}

/** An event with all that is known of it. */
export interface TracedEvent {
  readonly tenant: string;
  readonly eventKey: string;
  /** `source/event-id`. */
  readonly event: string;
  readonly source: string;
  readonly type?: string;
  /** Its state in the ledger; `unknown` where that has no row of it. */
  readonly ledger: 'open' | 'done' | 'dead_lettered' | 'abandoned' | 'ignored' | 'unknown';
  /** State of its latest run in Temporal; `forgotten` where Temporal knows none, `not_asked` where it did not tell. */
  readonly temporal: string;
  readonly receivedAt?: Date;
  readonly recordedAt?: Date;
  readonly endedAt?: Date;
  readonly abandoned?: { readonly by: string; readonly reason: string };
  readonly effects: readonly TracedEffect[];
  readonly deliveries: readonly TracedDelivery[];
  readonly runs: readonly TracedRun[];
  readonly deadLetters: readonly TracedLetter[];
  readonly superseded: readonly TracedSuperseded[];
  /** About the event, and about business identities whose claim it left. */
  readonly acts: readonly TracedAct[];
  readonly pauses: readonly TracedPause[];
}

/** A publication with its deliveries. */
export interface TracedPublication {
  readonly tenant: string;
  readonly publication: string;
  readonly webhookId: string;
  readonly type: string;
  readonly publishedAt: Date;
  /** `source/event-id`, effect and business key of what published it, where an effect did. */
  readonly cause?: { readonly event?: string; readonly effect?: string; readonly businessKey?: string };
  readonly causedBy?: string;
  readonly deliveries: readonly TracedPublicationDelivery[];
}

/** What became of a publication at one endpoint. */
export interface TracedPublicationDelivery {
  readonly endpoint: string;
  readonly endpointState: string;
  readonly deliveryKey: string;
  readonly state: string;
  readonly attempts: number;
  /** Attempts that may have arrived, since its last replay. */
  readonly possibleArrivals: number;
  readonly startedAt?: Date;
  readonly endedAt?: Date;
  readonly lastCode?: string;
  readonly abandoned?: { readonly by: string; readonly reason: string };
  readonly sends: readonly TracedSend[];
  readonly deadLetters: readonly TracedLetter[];
  readonly acts: readonly TracedAct[];
}

/** One line of the timeline. Fields beside `text` are for machines. */
export interface TraceEntry {
  readonly at: Date;
  readonly from: 'ledger' | 'temporal';
  /** A stable word for what happened, such as `delivery`, `run_started`, `attempt`. */
  readonly what: string;
  /** A sentence for people, on one line. */
  readonly text: string;
  /** `source/event-id`, or the publication. */
  readonly of: string;
  readonly effect?: string;
  readonly runId?: string;
  readonly code?: string;
  readonly act?: string;
}

/** A layer to suspect, or none. */
export interface Suspect {
  /** A stable word; see the documentation of `trace`. */
  readonly code: string;
  readonly text: string;
}

/** What may be done now. */
export interface ValidAct {
  readonly act: 'replay' | 'resolve' | 'retry_now' | 'abandon' | 'resume' | 'wait' | 'trace' | 'enable';
  /** To copy; what only a person knows stands in it as `'…'`. Absent where there is nothing to type. */
  readonly command?: string;
  /** What follows `onefold` in it, but for the reason; `…` stands for what it asks for. Only of what acts. */
  readonly words?: readonly string[];
  /** What has to be put in for `…`, where anything has. */
  readonly asks?: string;
  readonly why: string;
}

/** What a look at Temporal came to. */
export type TemporalLook =
  | { readonly state: 'looked' }
  | { readonly state: 'skipped' }
  | { readonly state: 'unreachable'; readonly reason: string };

/** Everything that is known of what a name means, as one story. */
export interface Traced {
  readonly outcome: 'traced';
  readonly identity: string;
  readonly kind: TracedKind;
  readonly at: Date;
  readonly temporal: TemporalLook;
  readonly events: readonly TracedEvent[];
  /** Completions that no event stands behind: what was adopted, or whose event was removed. */
  readonly claims: readonly TracedClaim[];
  readonly publications: readonly TracedPublication[];
  readonly suspects: readonly Suspect[];
  readonly next: readonly ValidAct[];
  /** Oldest first. */
  readonly timeline: readonly TraceEntry[];
  /** What was left out, in words; empty where nothing was. */
  readonly cut: readonly string[];
}

/** A name that may mean several things, or is part of some. */
export interface Ambiguous {
  readonly outcome: 'ambiguous';
  readonly identity: string;
  /** At most 20. */
  readonly choices: readonly TraceChoice[];
  /** Whether the name is only a part of these. */
  readonly part: boolean;
  /** There are more than the ones shown. */
  readonly more: boolean;
}

/** What a trace comes to. */
export type Trace = Traced | Ambiguous;
